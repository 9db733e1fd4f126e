// What an ending means: one cause, the evidence for it, and what to do next. Pure: the same facts
// give the same verdict, on any machine.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meter/gpu.h"
#include "process/ending.h"
#include "slurm/requeue.h"

namespace plimsoll::diagnosis {

// Why a command ended. Each cause has one name, which is written to JSON and CSV.
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

// What is known about an ending. The GPU snapshots show the command's GPUs before it started and
// after the last process of its tree ended, so everything they show belongs to others.
struct Evidence {
  process::Ending ending;
  std::vector<meter::GpuReading> gpus_before;
  std::vector<meter::GpuReading> gpus_at_end;
  std::optional<uint64_t> machine_limit_bytes;  // a --memory above it cannot help
};

struct Verdict {
  Cause cause = Cause::success;
  std::string headline;   // "out of memory: killed by its own limit after 41 s"
  std::string evidence;   // one line
  std::string next_step;  // "--batch-size at half its value, or --memory 24G"; empty after success
  // The line of the output that explains a failure by an exit code, with its place: "RuntimeError:
  // shape mismatch (train.py, line 8)". Empty if there is none, or if the headline says it.
  std::string said = {};
  // With gpu_memory_neighbour: free GPU memory that the command needs.
  std::optional<uint64_t> gpu_room_bytes = {};
};

Verdict judge(const Evidence& evidence);

// For a command that was not started: not_admitted or not_supervised, and why.
Verdict judge_refusal(Cause cause, const std::string& why);

// From a log alone; nothing if it has no known sign of a failure.
std::optional<Verdict> judge_log(std::string_view output);

// Up to three lines, without a final newline: ✗ or ✓ and the headline; the evidence; "try: " and
// the next step. Empty parts are left out.
std::string describe(const Verdict& verdict);

nlohmann::ordered_json to_json(const Verdict& verdict);

// What decides whether the Slurm job of a command that has ended is requeued. Not pure: if the
// command failed, it asks Slurm why the job stopped.
slurm::EndFacts end_facts(const process::Ending& ending, const Verdict& verdict,
                          const slurm::OwnJob& job);

}  // namespace plimsoll::diagnosis
