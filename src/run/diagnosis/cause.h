// Why a command ended. Each cause has one name, which is written to JSON and CSV.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace plimsoll::diagnosis {

enum class Cause {
  success,
  failed,                // an exit code of its own, for a reason that only its output knows
  own_memory_limit,      // --memory, or the limit of the batch system's job
  host_out_of_memory,    // the OOM killer of the host or of a group above
  memory_refused,        // the kernel or the allocator said no, and it gave up by itself
  killed,                // a signal that somebody else sent
  interrupted,           // a signal to plimsoll, handed on: Ctrl-C, a closed terminal
  gpu_memory_own,        // CUDA out of memory, by its own size
  gpu_memory_neighbour,  // CUDA out of memory, and it would have fitted but for somebody else
  gpu_failed,            // another error of CUDA, the driver or NCCL
  shared_memory_full,    // /dev/shm, which data loaders use
  broken_pipe,           // SIGPIPE: the reader of its output went away
  segfault,
  crashed,  // abort, illegal instruction, and the like
  timed_out,
  hung,
  missing_dependency,  // a module, a library, the command itself
  disk_full,
  not_admitted,    // its GPUs did not have the room in time, and it was not started
  not_supervised,  // it could not be supervised as asked, and was not started
  not_started,     // the command is there and could not be executed
  // The rest is said of attempts in a batch.
  expectation_unmet,   // it ended well, without what the batch expects of it
  no_result,           // it ended, and how could not be written
  background_invalid,  // the load beside it was not valid
  driver_ended,        // the driver ended before it: nobody saw its end
};

std::string_view name(Cause cause);  // "own_memory_limit"
std::optional<Cause> cause_named(std::string_view name);
Cause cause_of(std::string_view name);            // or throws Error{input}
std::span<const std::string_view> cause_names();  // in the order of Cause

}  // namespace plimsoll::diagnosis
