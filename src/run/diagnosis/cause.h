// Why a command ended. Each cause has one name, which is written to JSON and CSV.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace plimsoll::diagnosis {

enum class Cause {
  success,
  failed,                // its own exit code; only its output can tell the reason
  own_memory_limit,      // --memory, or the limit of the batch system's job
  host_out_of_memory,    // the OOM killer of the host or of a parent group
  memory_refused,        // an allocation failed, and the command ended itself
  killed,                // a signal that plimsoll did not send
  interrupted,           // a signal to plimsoll, passed to the command: Ctrl-C, a closed terminal
  gpu_memory_own,        // CUDA out of memory; the command alone needs too much
  gpu_memory_neighbour,  // CUDA out of memory; it would fit without the other processes
  gpu_failed,            // another error of CUDA, the driver or NCCL
  shared_memory_full,    // /dev/shm, which data loaders use
  broken_pipe,           // SIGPIPE: the reader of its output ended
  segfault,
  crashed,  // abort, illegal instruction, and the like
  timed_out,
  hung,
  missing_dependency,  // a module, a library, the command itself
  disk_full,
  not_admitted,    // not started: its GPUs did not have enough free memory in time
  not_supervised,  // not started: it could not be supervised as requested
  not_started,     // the command exists but could not be executed
  // The following occur only for attempts in a batch.
  expectation_unmet,   // it ended without an error, but did not meet the batch's expectations
  no_result,           // it ended, but its result could not be written
  background_invalid,  // its background load was not valid
  driver_ended,        // the driver ended first, so the attempt's end is unknown
  stopped_early,       // the batch's `stop` rule ended it, because others were better
};

// It, its job or its node had no memory left; not a GPU.
bool is_out_of_memory(Cause cause);

std::string_view name(Cause cause);  // "own_memory_limit"
std::optional<Cause> cause_named(std::string_view name);
Cause cause_of(std::string_view name);            // throws Error{input} for an unknown name
std::span<const std::string_view> cause_names();  // in the order of Cause

}  // namespace plimsoll::diagnosis
