// The memory that this process and the control groups around it use, as the kernel counts, to
// compare with the ledger. Groups are of version 1 and 2, from the process's own up to the highest
// that the mount shows. Any level can be the one that kills.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host.h"

namespace plimsoll::memory {

enum class CgroupVersion { v1, v2 };
std::string_view name(CgroupVersion version);  // "cgroup v1"

struct CgroupLevel {
  CgroupVersion version = CgroupVersion::v2;
  std::string path;              // "/user.slice/job.scope", from the root of the mount
  std::filesystem::path folder;  // where its files are
};

// Version 2's levels, then version 1's; of each, the process's own first, then those above it.
std::vector<CgroupLevel> cgroup_levels(const Host& host);

// The same of version 2's tree alone, or of one version 1 controller's ("freezer").
std::vector<CgroupLevel> unified_levels(const Host& host);
std::vector<CgroupLevel> controller_levels(const Host& host, std::string_view controller);

struct CgroupLimit {
  std::string_view file;  // "memory.max"
  uint64_t bytes = 0;
};

// The limits in the level's files: memory.max and memory.high, or version 1's limit. Version 1's
// soft limit does not count: it has no effect until the host itself is short of memory.
std::vector<CgroupLimit> cgroup_limits(const CgroupLevel& level);

// The memory of a level that has a limit.
struct CgroupMemory {
  std::string name;            // "cgroup v2 /user.slice/job.scope"
  uint64_t limit_bytes = 0;    // the smallest of its limits
  uint64_t charged_bytes = 0;  // all that counts towards it
  // The pages of files among them, which the kernel drops before it refuses or kills. tmpfs is left
  // out: both versions count it as cache, but it cannot be dropped.
  uint64_t cache_bytes = 0;
  uint64_t anon_bytes = 0;  // the processes' own memory among them

  bool operator==(const CgroupMemory&) const = default;
  uint64_t held_bytes() const { return charged_bytes - cache_bytes; }
  // Negative if the limit was lowered below the memory in use.
  int64_t left_bytes() const {
    return static_cast<int64_t>(limit_bytes) - static_cast<int64_t>(held_bytes());
  }
};

// Nothing for a level without a limit.
std::optional<CgroupMemory> read_cgroup_memory(const CgroupLevel& level);

struct ProcessUsage {
  uint64_t resident_bytes = 0;       // now; pages of mapped files included
  uint64_t peak_resident_bytes = 0;  // since the start, or begin_peak()
};

ProcessUsage process_usage(const Host& host = Host::real());

// Restarts the peak, if the kernel permits it: to measure one phase.
void begin_peak();

// The cgroup, at any level, that has the least left of its limit: its usage decides whether this
// process is killed. Other processes in the group count. held_bytes() is comparable with a ledger:
// it includes the kernel's own memory for the processes, but no cache. Nothing if no cgroup has a
// limit.
std::optional<CgroupMemory> cgroup_usage(const Host& host = Host::real());

}  // namespace plimsoll::memory
