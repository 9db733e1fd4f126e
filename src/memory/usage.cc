#include "memory/usage.h"

#include <fstream>
#include <sstream>
#include <string>

#include "base/units.h"

namespace plimsoll::memory {

ProcessUsage process_usage() {
  ProcessUsage usage;
  std::ifstream file("/proc/self/status");
  std::string key;
  uint64_t kib = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    if (!(fields >> key >> kib)) continue;
    if (key == "VmRSS:") usage.resident_bytes = kib * kKiB;
    if (key == "VmHWM:") usage.peak_resident_bytes = kib * kKiB;
  }
  return usage;
}

}  // namespace plimsoll::memory
