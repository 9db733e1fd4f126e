// What a program's output says about its end: known lines of frameworks, shells and batch systems.
// Words prove nothing by themselves: they are asked only after an end that was no success.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::diagnosis {

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
