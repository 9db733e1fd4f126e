// What the end of a log says about a failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::diagnosis {

// The figures in a framework's complaint that a GPU's memory is full.

// What the line says; torch says nearly all of it, others only what they wanted.
struct GpuMessage {
  std::optional<uint64_t> wanted_bytes;
  std::optional<uint64_t> total_bytes;
  std::optional<uint64_t> free_bytes;
  std::optional<uint64_t> own_bytes;   // what the process held already
  std::optional<uint64_t> idle_bytes;  // of that, cached by torch in pieces that were too small
};

GpuMessage parse_gpu_message(std::string_view text);

// "2.00 GiB", "9.8G", "17179869184 bytes", "8,589,934,592 bytes" at the start of a text.
std::optional<uint64_t> leading_size(std::string_view text);

// What a program's output says about its end: known lines of frameworks, shells and batch systems.
// Words prove nothing by themselves: they are asked only after an end that was no success.

// In the order in which one outweighs another: the first is the least likely to be the fallout of
// something else.
enum class Sign {
  batch_system_memory,  // "slurmstepd: error: Detected 1 oom-kill event(s)"
  batch_system_time,    // "... CANCELLED AT ... DUE TO TIME LIMIT"
  batch_system_end,     // preempted, cancelled, a node that failed
  gpu_memory,
  shared_memory,
  disk_full,
  host_memory,
  missing_module,
  missing_library,
  missing_command,
  not_executable,
  gpu_error,
  process_killed,    // one of its processes: "Killed", "killed by signal: Killed"
  crash,             // "Segmentation fault"
  python_exception,  // any other
  fallout,           // what others die of when one has died: NCCL, broken pipes
};

struct Finding {
  Sign sign = Sign::python_exception;
  std::string line;      // trimmed, at most 1000 characters
  std::string subject;   // the module, library or command that is missing, cut like the line
  std::string place;     // "train.py, line 41": where a Python exception came from; else empty
  bool chained = false;  // an exception that was raised because of the one before
  size_t number = 0;     // of the line, from 1
};

// Everything known in `output`, in its order. Progress bars' carriage returns end a line, too.
std::vector<Finding> find_signs(std::string_view output);

// The one that says why the program ended: the weightiest, but never one from before an exception
// that was raised later and independently, because a program that goes on has got over it.
std::optional<Finding> decisive_sign(const std::vector<Finding>& findings);
std::optional<Finding> decisive_sign(std::string_view output);

}  // namespace plimsoll::diagnosis
