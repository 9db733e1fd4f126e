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

// The CPU's energy counters (RAPL, AMD too), as the kernel shows them under /sys/class/powercap:
// which there are, and whether they can be read. They are of a whole package: every process on it
// counts.

struct EnergyZone {
  std::string name;  // "package-0", "dram"
  std::filesystem::path folder;
  uint64_t range_microjoules = 0;  // where the counter wraps
  // Nothing if it cannot be read: never 0.
  std::optional<uint64_t> microjoules;
  std::string unreadable_because;
};

// PLIMSOLL_POWERCAP names another folder than /sys/class/powercap.
std::filesystem::path powercap_folder(const Host& host = Host::real());

// Packages and their memory; the zones for cores and for the whole platform overlap them.
std::vector<EnergyZone> energy_zones(const Host& host = Host::real());

// From one reading of a counter to a later one less than a whole turn away.
uint64_t energy_between(uint64_t before, uint64_t after, uint64_t range_microjoules);

// The CPU's energy counters through perf (its `power` device), for where /sys/class/powercap is
// closed: perf lets in whom perf_event_paranoid lets in. The same hardware counters, of a whole
// package; the kernel makes 64 bits of them, which never wrap.

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
PowerEvents power_events(const Host& host = Host::real());

// Counts from now on; 8 bytes at each read. Without a file, errno says why.
Fd open_power_event(const PowerEvent& event);

// "0,28-30" -> 0 28 29 30
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace plimsoll::meter
