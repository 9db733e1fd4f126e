// What the machine takes when nothing of ours runs, measured before a batch: what a run took beyond
// that is its net energy.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "energy/report.h"

namespace plimsoll::energy {

struct GpuBaseline {
  std::string uuid;
  std::optional<double> counter_watts;
  std::optional<double> integral_watts;
};

struct Baseline {
  double measured_at = 0;  // seconds since 1970
  double seconds = 0;
  std::optional<double> package_watts;
  std::optional<double> memory_watts;
  std::vector<GpuBaseline> gpus;
  std::string disturbed_because;  // somebody was at work meanwhile: the net figures are too low
};

Baseline baseline_of(const EnergyReport& idle, double measured_at);

// Fills in the net figures. Each is less the idle power over the time that the figure covers, of
// the same source.
void subtract(const Baseline& baseline, EnergyReport& report);

// One line for people.
std::string describe(const Baseline& baseline);

// In the run's folder, so that a resumed batch has the same. Throws Error{io, disk}.
void save(const Baseline& baseline, const std::filesystem::path& file);
// What save() wrote; throws Error{input} with `name` for any other text.
Baseline baseline_from(std::string_view text, std::string_view name);
// Nothing where there is no such file.
std::optional<Baseline> load_baseline(const std::filesystem::path& file);

}  // namespace plimsoll::energy
