// What the kernel says this process and the limit around it use, to hold beside what the ledger
// says.
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

// The peak counts from now on, where the kernel lets us: for a phase that is judged by itself.
void begin_peak();

// Of the cgroups with a limit, at any level, the one that has the least left: what it holds is what
// decides whether this process lives. Others in the same group count. held_bytes() is comparable
// with a ledger: it has the kernel's own memory for the processes, too, but no cache. Nothing where
// no cgroup has a limit.
std::optional<CgroupMemory> cgroup_usage(const Host& host = Host::real());

}  // namespace plimsoll::memory
