#include "process/tree_usage.h"

#include <fmt/format.h>

#include "memory/host.h"

namespace plimsoll::process {

TreeUsage usage_of(const std::vector<ProcessStat>& processes) {
  TreeUsage usage;
  for (const ProcessStat& stat : processes) {
    usage.resident_bytes += stat.resident_bytes;
    usage.cpu_ticks += stat.cpu_ticks;
    if (stat.resident_bytes <= usage.largest_bytes) continue;
    usage.largest_pid = stat.pid;
    usage.largest_bytes = stat.resident_bytes;
  }
  return usage;
}

uint64_t proportional_bytes(const std::vector<ProcessStat>& processes) {
  uint64_t sum = 0;
  for (const ProcessStat& stat : processes) {
    sum += proportional_bytes(stat.pid).value_or(stat.resident_bytes);
  }
  return sum;
}

uint64_t written_bytes(const std::vector<ProcessStat>& processes) {
  uint64_t sum = 0;
  for (const ProcessStat& stat : processes) {
    const auto text = memory::read_text(fmt::format("/proc/{}/io", stat.pid));
    if (text) sum += memory::number_of(*text, "wchar:").value_or(0);
  }
  return sum;
}

}  // namespace plimsoll::process
