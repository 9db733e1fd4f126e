// What an ending means: one cause, the evidence for it, and what to do next. Pure: the same facts
// give the same verdict, on any machine.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/cause.h"
#include "meter/gpu.h"
#include "process/ending.h"

namespace plimsoll::diagnosis {

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

}  // namespace plimsoll::diagnosis
