#include "meter/cpu_power.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <system_error>

#include "base/fd.h"

namespace plimsoll::meter {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  const std::string text = read_text(file).value_or("");
  return text.substr(0, text.find('\n'));
}

EnergyZone read_zone(const fs::path& folder) {
  EnergyZone zone{.name = first_line(folder / "name"), .folder = folder};
  const auto range = read_text(folder / "max_energy_range_uj");
  if (range) zone.range_microjoules = leading_number(*range).value_or(0);
  const fs::path counter = folder / "energy_uj";
  const Fd file(open(counter.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    zone.unreadable_because = std::strerror(errno);
    return zone;
  }
  const auto text = read_text(counter);
  if (text) zone.microjoules = leading_number(*text);
  if (!zone.microjoules) zone.unreadable_because = "it holds no number";
  return zone;
}

}  // namespace

fs::path powercap_folder(const Host& host) {
  const auto named = host.variable ? host.variable("PLIMSOLL_POWERCAP") : std::nullopt;
  return named ? fs::path(*named) : host.root / "sys/class/powercap";
}

std::vector<EnergyZone> energy_zones(const Host& host) {
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

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostCpus = 8192;  // of any kernel

// "event=0x02"; nothing if it has parts that we do not know.
std::optional<uint64_t> config_of(const std::string& text) {
  constexpr std::string_view kEvent = "event=";
  if (!text.starts_with(kEvent) || text.find(',') != std::string::npos) return {};
  const char* digits = text.c_str() + kEvent.size();
  char* end = nullptr;
  const uint64_t config = std::strtoull(digits, &end, 0);
  return end == digits ? std::nullopt : std::optional(config);
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto first = leading_number(part);
    if (!first) continue;
    const size_t dash = part.find('-');
    const auto last = dash == std::string::npos ? first : leading_number(part.substr(dash + 1));
    const uint64_t end = std::min(last.value_or(*first), kMostCpus - 1);
    for (uint64_t cpu = *first; cpu <= end && cpus.size() < kMostCpus; ++cpu) {
      cpus.push_back(static_cast<int>(cpu));
    }
  }
  return cpus;
}

PowerEvents power_events(const Host& host) {
  const fs::path device = host.root / "sys/bus/event_source/devices/power";
  const auto type = read_text(device / "type");
  if (!type) {
    return {.events = {},
            .missing_because = fmt::format("there is no {}", (device / "type").string())};
  }
  PowerEvents found;
  const auto cpus = parse_cpu_list(read_text(device / "cpumask").value_or("0"));
  for (const char* name : {"energy-pkg", "energy-ram"}) {
    const fs::path event = device / "events" / name;
    const auto config = config_of(read_text(event).value_or(""));
    const auto scale = read_text(event.string() + ".scale");
    if (!config || !scale) continue;
    for (const int cpu : cpus) {
      found.events.push_back({.name = name,
                              .type = static_cast<unsigned>(leading_number(*type).value_or(0)),
                              .config = *config,
                              .cpu = cpu,
                              .joules_per_count = std::strtod(scale->c_str(), nullptr)});
    }
  }
  if (found.events.empty() || found.events.front().name != "energy-pkg") {
    return {.events = {},
            .missing_because = fmt::format("{} has no energy-pkg", (device / "events").string())};
  }
  return found;
}

Fd open_power_event(const PowerEvent& event) {
  perf_event_attr attributes{};
  attributes.type = event.type;
  attributes.size = sizeof attributes;
  attributes.config = event.config;
  return Fd(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, event.cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

}  // namespace plimsoll::meter
