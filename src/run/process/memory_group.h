// The control group that bounds the memory of a tree and counts it, version 1 or 2.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "memory/cgroup.h"

namespace plimsoll::process {

struct MemoryGroup {
  memory::CgroupVersion version = memory::CgroupVersion::v2;
  std::filesystem::path folder;  // empty: there is none
};

struct MemoryBounds {
  std::optional<uint64_t> limit_bytes;  // beyond it the kernel kills; swap is no way around it
  std::optional<uint64_t> high_bytes;   // beyond it the kernel slows; version 2 alone can
};

// To be called before the first process is inside. Throws Error{refused} where the kernel does not
// take the limit.
void set_bounds(const MemoryGroup& group, const MemoryBounds& bounds);

struct GroupCounters {
  std::optional<uint64_t> peak_bytes;
  uint64_t limit_hits = 0;  // how often the group ran into its limit, whether or not that killed
  uint64_t oom_kills = 0;   // of its processes, by any OOM killer
};

GroupCounters read_counters(const MemoryGroup& group);

// Ended by the kernel for want of memory on the whole machine, since it started.
uint64_t host_oom_kills();

}  // namespace plimsoll::process
