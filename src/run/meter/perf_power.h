// The CPU's energy counters through perf (its `power` device), for where /sys/class/powercap is
// closed: perf lets in whom perf_event_paranoid lets in. The same hardware counters, of a whole
// package; the kernel makes 64 bits of them, which never wrap.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "memory/host.h"

namespace plimsoll::meter {

struct PowerEvent {
  std::string name;  // "energy-pkg", "energy-ram"
  unsigned type = 0;
  uint64_t config = 0;
  int cpu = 0;  // one of each package
  double joules_per_count = 0;
};

// Either the events of packages and memory, one for each package, or why there are none.
struct PowerEvents {
  std::vector<PowerEvent> events;
  std::string missing_because;
};
PowerEvents power_events(const memory::Host& host = memory::Host::real());

// Counts from now on; 8 bytes at each read. Without a file, errno says why.
Fd open_power_event(const PowerEvent& event);

// "0,28-30" -> 0 28 29 30
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace plimsoll::meter
