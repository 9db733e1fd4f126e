#include "energy/baseline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text_file.h"
#include "base/units.h"
#include "energy/report.h"
#include "io/partial_file.h"

namespace plimsoll::energy {

void Neighbours::look_before(const meter::GpuReading& gpu, const IsOurs& is_ours) {
  look(gpu, is_ours);
  if (reason_.empty() && gpu.has_unlisted_holder()) {
    reason_ = fmt::format("{} of GPU {} were in use before the start, by no process that is listed",
                          format_bytes(gpu.unexplained_bytes()), gpu.index);
  }
}

void Neighbours::look(const meter::GpuReading& gpu, const IsOurs& is_ours) {
  if (!reason_.empty()) return;
  // A listed pid without a visible process has just ended, or is in another pid namespace. It may
  // be one of ours under another number: that is possible if a process of ours has the device open
  // but is not listed.
  std::set<pid_t> unknown;
  size_t ours_unlisted = 0;
  for (const meter::GpuHolder& holder : gpu.holders) {
    if (holder.start_ticks == 0) {
      unknown.insert(holder.pid);
    } else if (!is_ours(holder.pid)) {
      reason_ = fmt::format("GPU {} was held by {}", gpu.index, describe(holder));
      return;
    } else if (!holder.listed_by_driver) {
      ++ours_unlisted;
    }
  }
  size_t seen_again = 0;
  for (const pid_t pid : unknown) seen_again += unknown_.count(pid);
  if (seen_again > ours_unlisted) {
    reason_ = fmt::format("GPU {} was held by a process that cannot be seen from here (pid {})",
                          gpu.index, *unknown.begin());
  }
  unknown_ = std::move(unknown);
}

namespace {

using Json = nlohmann::ordered_json;

std::optional<double> watts_of(const Figure& figure, double seconds) {
  const double covered = figure.coverage * seconds;
  if (!figure.joules || covered <= 0) return {};
  return *figure.joules / covered;
}

void subtract(const std::optional<double>& watts, double seconds, Figure& figure) {
  if (!watts || !figure.joules) return;
  figure.net_joules = *figure.joules - *watts * figure.coverage * seconds;
}

std::string watts_text(const std::optional<double>& watts) {
  return watts ? fmt::format("{:.1f} W", *watts) : "unavailable";
}

}  // namespace

Baseline baseline_of(const EnergyReport& idle, double measured_at) {
  Baseline baseline{.measured_at = measured_at,
                    .seconds = idle.seconds,
                    .package_watts = watts_of(idle.cpu.package, idle.seconds),
                    .memory_watts = watts_of(idle.cpu.memory, idle.seconds),
                    .gpus = {},
                    .disturbed_because = {}};
  if (idle.cpu.package.quality == Quality::shared) {
    baseline.disturbed_because = idle.cpu.package.reason;
  }
  for (const GpuFigures& gpu : idle.gpus) {
    baseline.gpus.push_back({.uuid = gpu.uuid,
                             .counter_watts = watts_of(gpu.counter, idle.seconds),
                             .integral_watts = watts_of(gpu.integral, idle.seconds)});
    if (gpu.energy.quality == Quality::shared) {
      baseline.disturbed_because +=
          (baseline.disturbed_because.empty() ? "" : "; ") + gpu.energy.reason;
    }
  }
  return baseline;
}

void subtract(const Baseline& baseline, EnergyReport& report) {
  subtract(baseline.package_watts, report.seconds, report.cpu.package);
  subtract(baseline.memory_watts, report.seconds, report.cpu.memory);
  // Without a memory domain, the total equals the package figure.
  report.cpu.total.net_joules = report.cpu.package.net_joules;
  if (report.cpu.memory.joules) {
    report.cpu.total.net_joules = sum_of({report.cpu.package, report.cpu.memory}).net_joules;
  }
  if (!report.cpu.total.joules) report.cpu.total.net_joules.reset();
  std::vector<Figure> energies;
  for (GpuFigures& gpu : report.gpus) {
    const auto found = std::ranges::find(baseline.gpus, gpu.uuid, &GpuBaseline::uuid);
    if (found != baseline.gpus.end()) {
      const bool counted = gpu.energy.source.starts_with("nvml_counter");
      subtract(found->counter_watts, report.seconds, gpu.counter);
      subtract(found->integral_watts, report.seconds, gpu.integral);
      subtract(counted ? found->counter_watts : found->integral_watts, report.seconds, gpu.energy);
    }
    energies.push_back(gpu.energy);
  }
  if (!energies.empty()) report.all_gpus = sum_of(energies);
}

std::string describe(const Baseline& baseline) {
  std::string text =
      fmt::format("idle for {}: CPU packages {}, memory {}", format_seconds(baseline.seconds),
                  watts_text(baseline.package_watts), watts_text(baseline.memory_watts));
  for (const GpuBaseline& gpu : baseline.gpus) {
    text += fmt::format(", {} {}", gpu.uuid,
                        watts_text(gpu.counter_watts ? gpu.counter_watts : gpu.integral_watts));
  }
  if (!baseline.disturbed_because.empty()) {
    text += fmt::format("; not idle, so net figures are too low: {}", baseline.disturbed_because);
  }
  return text;
}

void save(const Baseline& baseline, const std::filesystem::path& file) {
  Json gpus = Json::array();
  for (const GpuBaseline& gpu : baseline.gpus) {
    gpus.push_back({{"uuid", gpu.uuid},
                    {"counter_watts", json_of(gpu.counter_watts)},
                    {"integral_watts", json_of(gpu.integral_watts)}});
  }
  const Json json = {{"measured_at", baseline.measured_at},
                     {"seconds", baseline.seconds},
                     {"cpu_package_watts", json_of(baseline.package_watts)},
                     {"cpu_memory_watts", json_of(baseline.memory_watts)},
                     {"gpus", gpus},
                     {"disturbed_because", baseline.disturbed_because}};
  io::write_whole(file, json_text(json) + "\n");
}

Baseline baseline_from(std::string_view text, std::string_view name) {
  return from_json<Json>(text, name, [](const Json& json) {
    Baseline baseline{.measured_at = json.value("measured_at", 0.0),
                      .seconds = json.value("seconds", 0.0),
                      .package_watts = number_in(json, "cpu_package_watts"),
                      .memory_watts = number_in(json, "cpu_memory_watts"),
                      .gpus = {},
                      .disturbed_because = json.value("disturbed_because", "")};
    for (const Json& gpu : json.value("gpus", Json::array())) {
      baseline.gpus.push_back({.uuid = gpu.value("uuid", ""),
                               .counter_watts = number_in(gpu, "counter_watts"),
                               .integral_watts = number_in(gpu, "integral_watts")});
    }
    return baseline;
  });
}

std::optional<Baseline> load_baseline(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
  return baseline_from(read_small_file(file, JsonLimits().bytes), file.string());
}

}  // namespace plimsoll::energy
