// What the processes of a tree use at one moment: memory, CPU time, what they wrote.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "process/proc_stat.h"

namespace plimsoll::process {

struct TreeUsage {
  // Pages that several of them share count once for each: an upper bound, but cheap to know.
  uint64_t resident_bytes = 0;
  uint64_t cpu_ticks = 0;
  pid_t largest_pid = 0;
  uint64_t largest_bytes = 0;
};
TreeUsage usage_of(const std::vector<ProcessStat>& processes);

// Pages that several of them share count once. Milliseconds for large processes.
uint64_t proportional_bytes(const std::vector<ProcessStat>& processes);

// All that they passed to write(), to whatever it went; only to be compared with an earlier
// reading.
uint64_t written_bytes(const std::vector<ProcessStat>& processes);

}  // namespace plimsoll::process
