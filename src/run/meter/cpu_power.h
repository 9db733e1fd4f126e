// Energy counters of the CPU: those of powercap, or those of perf if powercap has none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/host.h"

namespace plimsoll::meter {

// An energy counter (RAPL, also on AMD), as the kernel shows it under /sys/class/powercap. It
// covers a whole package, with all processes on it.
struct EnergyZone {
  std::string name;  // "package-0", "dram"
  std::filesystem::path folder;
  uint64_t range_microjoules = 0;  // where the counter wraps
  // A counter that cannot be read has no value; it is never 0.
  std::optional<uint64_t> microjoules;
  std::string unreadable_because;
};

// /sys/class/powercap, or the folder that $PLIMSOLL_POWERCAP names.
std::filesystem::path powercap_folder(const Host& host = Host::real());

// The counters of packages and of their memory. Those of cores and of the whole platform are left
// out, because they overlap with these.
std::vector<EnergyZone> energy_zones(const Host& host = Host::real());

// The energy between two readings. The counter may have wrapped once between them.
uint64_t energy_between(uint64_t before, uint64_t after, uint64_t range_microjoules);

// The same counter through perf (its `power` device), for users who may not read
// /sys/class/powercap; perf_event_paranoid decides who may use perf. The kernel extends it to 64
// bits, so it never wraps.
struct PowerEvent {
  std::string name;  // "energy-pkg", "energy-ram"
  unsigned type = 0;
  uint64_t config = 0;
  int cpu = 0;  // one CPU of the package
  double joules_per_count = 0;
};

// The events of all packages and of their memory, or why there are none.
struct PowerEvents {
  std::vector<PowerEvent> events;
  std::string missing_because;
};
PowerEvents power_events(const Host& host = Host::real());

// Opens an event that counts from now on. Each read returns 8 bytes. If it cannot be opened, the
// result is empty and errno says why.
Fd open_power_event(const PowerEvent& event);

// "0,28-30" -> 0 28 29 30
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace plimsoll::meter
