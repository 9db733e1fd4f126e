// Energy counters of CPUs, as the kernel shows them under /sys/class/powercap.
#pragma once

#include <string>

#include "temp_folder.h"

namespace plimsoll::meter {

// Without `energy`, the counter is missing, as if it could not be read.
inline void add_zone(const TempFolder& root, const std::string& folder, const std::string& name,
                     const std::string& energy) {
  const auto zone = root / ("sys/class/powercap/" + folder);
  write_file(zone / "name", name + "\n");
  write_file(zone / "max_energy_range_uj", "262143328850\n");
  if (!energy.empty()) write_file(zone / "energy_uj", energy);
}

}  // namespace plimsoll::meter
