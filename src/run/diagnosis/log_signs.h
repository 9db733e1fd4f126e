// Finds the lines in a log that explain a failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::diagnosis {

// The numbers in a framework's out-of-memory message for a GPU. torch prints nearly all of them,
// other frameworks only wanted_bytes.
struct GpuMessage {
  std::optional<uint64_t> wanted_bytes;
  std::optional<uint64_t> total_bytes;
  std::optional<uint64_t> free_bytes;
  std::optional<uint64_t> own_bytes;   // what the process already held
  std::optional<uint64_t> idle_bytes;  // part of own_bytes: cached by torch, but too fragmented
};

GpuMessage parse_gpu_message(std::string_view text);

// Parses a size at the start of a text: "2.00 GiB", "9.8G", "17179869184 bytes", "8,589,934,592
// bytes".
std::optional<uint64_t> leading_size(std::string_view text);

// What a known line in a program's output says about its end: lines of frameworks, shells and batch
// systems. Such a line proves nothing by itself, so use it only after a failure.
//
// Sorted by weight, the strongest first: the first is the least likely to be a consequence of
// another failure.
enum class Sign {
  batch_system_memory,  // "slurmstepd: error: Detected 1 oom-kill event(s)"
  batch_system_time,    // "... CANCELLED AT ... DUE TO TIME LIMIT"
  batch_system_end,     // preempted, cancelled, node failure
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
  python_exception,  // any other exception
  fallout,           // a consequence of another process's end: NCCL errors, broken pipes
};

struct Finding {
  Sign sign = Sign::python_exception;
  std::string line;      // trimmed, at most 1000 characters
  std::string subject;   // the missing module, library or command; at most 1000 characters
  std::string place;     // "train.py, line 41": the origin of a Python exception; otherwise empty
  bool chained = false;  // an exception that was raised because of the previous one
  size_t number = 0;     // line number, from 1
};

// All known lines in `output`, in order. A carriage return, as from a progress bar, also ends a
// line.
std::vector<Finding> find_signs(std::string_view output);

// The finding that explains why the program ended: the strongest one. Findings before the last
// independent (not chained) exception are ignored: the program survived them.
std::optional<Finding> decisive_sign(const std::vector<Finding>& findings);
std::optional<Finding> decisive_sign(std::string_view output);

}  // namespace plimsoll::diagnosis
