// The memory that this process and the cgroup around it use, as the kernel counts, to compare with
// the ledger.
#pragma once

#include <cstdint>
#include <optional>

#include "base/host.h"
#include "memory/cgroup.h"

namespace plimsoll::memory {

struct ProcessUsage {
  uint64_t resident_bytes = 0;       // now; pages of mapped files included
  uint64_t peak_resident_bytes = 0;  // since the start, or begin_peak()
};

ProcessUsage process_usage(const Host& host = Host::real());

// Restarts the peak, if the kernel permits it: to measure one phase.
void begin_peak();

// Of the cgroups with a limit, at any level, the one that has the least left: its usage decides
// whether this process is killed. Other processes in the group count. held_bytes() is comparable
// with a ledger: it has the kernel's own memory for the processes, too, but no cache. Nothing if
// no cgroup has a limit.
std::optional<CgroupMemory> cgroup_usage(const Host& host = Host::real());

}  // namespace plimsoll::memory
