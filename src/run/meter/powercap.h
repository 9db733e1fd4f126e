// The CPU's energy counters (RAPL, AMD too), as the kernel shows them under /sys/class/powercap:
// which there are, and whether they can be read. They are of a whole package: every process on it
// counts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "memory/host.h"

namespace plimsoll::meter {

struct EnergyZone {
  std::string name;  // "package-0", "dram"
  std::filesystem::path folder;
  uint64_t range_microjoules = 0;  // where the counter wraps
  // Nothing where it cannot be read: never 0.
  std::optional<uint64_t> microjoules;
  std::string unreadable_because;
};

// PLIMSOLL_POWERCAP names another folder than /sys/class/powercap.
std::filesystem::path powercap_folder(const memory::Host& host = memory::Host::real());

// Packages and their memory; the zones for cores and for the whole platform overlap them.
std::vector<EnergyZone> energy_zones(const memory::Host& host = memory::Host::real());

// From one reading of a counter to a later one less than a whole turn away.
uint64_t energy_between(uint64_t before, uint64_t after, uint64_t range_microjoules);

}  // namespace plimsoll::meter
