// The control group (cgroup v1 or v2) that limits and counts the memory of a process tree.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "memory/usage.h"

namespace plimsoll::process {

struct MemoryGroup {
  memory::CgroupVersion version = memory::CgroupVersion::v2;
  std::filesystem::path folder;  // empty: no group
};

struct MemoryBounds {
  std::optional<uint64_t> limit_bytes;  // above it the kernel kills; swap does not extend it
  std::optional<uint64_t> high_bytes;   // above it the kernel slows the tree down; v2 only
};

// Call it before the first process joins the group. Throws Error{refused} if the kernel rejects the
// limit.
void set_bounds(const MemoryGroup& group, const MemoryBounds& bounds);

struct GroupCounters {
  std::optional<uint64_t> peak_bytes;
  uint64_t limit_hits = 0;  // how often the group reached its limit, with or without a kill
  uint64_t oom_kills = 0;   // processes of the group killed by any OOM killer
};

GroupCounters read_counters(const MemoryGroup& group);

// Processes that the kernel's OOM killer has killed on the whole machine since it booted.
uint64_t host_oom_kills();

}  // namespace plimsoll::process
