#include "meter/perf_power.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <sstream>

namespace plimsoll::meter {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostCpus = 8192;  // of any kernel

// "event=0x02"; nothing where it has parts that we do not know.
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
    const auto first = memory::leading_number(part);
    if (!first) continue;
    const size_t dash = part.find('-');
    const auto last =
        dash == std::string::npos ? first : memory::leading_number(part.substr(dash + 1));
    const uint64_t end = std::min(last.value_or(*first), kMostCpus - 1);
    for (uint64_t cpu = *first; cpu <= end && cpus.size() < kMostCpus; ++cpu) {
      cpus.push_back(static_cast<int>(cpu));
    }
  }
  return cpus;
}

PowerEvents power_events(const memory::Host& host) {
  const fs::path device = host.root / "sys/bus/event_source/devices/power";
  const auto type = memory::read_text(device / "type");
  if (!type) {
    return {.events = {},
            .missing_because = fmt::format("there is no {}", (device / "type").string())};
  }
  PowerEvents found;
  const auto cpus = parse_cpu_list(memory::read_text(device / "cpumask").value_or("0"));
  for (const char* name : {"energy-pkg", "energy-ram"}) {
    const fs::path event = device / "events" / name;
    const auto config = config_of(memory::read_text(event).value_or(""));
    const auto scale = memory::read_text(event.string() + ".scale");
    if (!config || !scale) continue;
    for (const int cpu : cpus) {
      found.events.push_back(
          {.name = name,
           .type = static_cast<unsigned>(memory::leading_number(*type).value_or(0)),
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
