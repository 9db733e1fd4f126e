// What the kernel says this process uses, to hold beside what the ledger says.
#pragma once

#include <cstdint>

namespace plimsoll::memory {

struct ProcessUsage {
  uint64_t resident_bytes = 0;       // now; pages of mapped files included
  uint64_t peak_resident_bytes = 0;  // since the start
};

ProcessUsage process_usage();

}  // namespace plimsoll::memory
