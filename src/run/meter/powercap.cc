#include "meter/powercap.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/fd.h"

namespace plimsoll::meter {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  const std::string text = memory::read_text(file).value_or("");
  return text.substr(0, text.find('\n'));
}

EnergyZone read_zone(const fs::path& folder) {
  EnergyZone zone{.name = first_line(folder / "name"), .folder = folder};
  const auto range = memory::read_text(folder / "max_energy_range_uj");
  if (range) zone.range_microjoules = memory::leading_number(*range).value_or(0);
  const fs::path counter = folder / "energy_uj";
  const Fd file(open(counter.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    zone.unreadable_because = std::strerror(errno);
    return zone;
  }
  const auto text = memory::read_text(counter);
  if (text) zone.microjoules = memory::leading_number(*text);
  if (!zone.microjoules) zone.unreadable_because = "it holds no number";
  return zone;
}

}  // namespace

fs::path powercap_folder(const memory::Host& host) {
  const auto named = host.variable ? host.variable("PLIMSOLL_POWERCAP") : std::nullopt;
  return named ? fs::path(*named) : host.root / "sys/class/powercap";
}

std::vector<EnergyZone> energy_zones(const memory::Host& host) {
  std::vector<EnergyZone> zones;
  std::error_code none;
  const fs::directory_iterator folders(powercap_folder(host), none);
  for (const fs::directory_entry& entry : folders) {
    // "intel-rapl:0" and "intel-rapl:0:1"; intel-rapl-mmio shows the same packages again.
    if (!entry.path().filename().string().starts_with("intel-rapl:")) continue;
    EnergyZone zone = read_zone(entry.path());
    if (zone.name.starts_with("package") || zone.name == "dram") zones.push_back(std::move(zone));
  }
  std::ranges::sort(zones, {}, &EnergyZone::folder);
  return zones;
}

uint64_t energy_between(uint64_t before, uint64_t after, uint64_t range_microjoules) {
  if (after >= before) return after - before;
  return after + (range_microjoules > before ? range_microjoules - before : 0);
}

}  // namespace plimsoll::meter
