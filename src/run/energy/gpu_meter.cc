#include "energy/gpu_meter.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll::energy {
namespace {

constexpr double kNearlyAll = 0.99;

}  // namespace

Range range_of(const Integral& integral) {
  return {.mean = integral.mean(), .smallest = integral.smallest(), .largest = integral.largest()};
}

Figure figure_of(const Measured& measured) {
  if (measured.covered_seconds <= 0 || measured.run_seconds <= 0) {
    return unavailable(measured.missing_because.empty() ? "the run ended before a second reading"
                                                        : measured.missing_because);
  }
  if (measured.joules <= 0) {
    return unavailable(
        fmt::format("{} did not move in {:.3g} s", measured.source, measured.run_seconds));
  }
  Figure figure;
  figure.joules = measured.joules;
  figure.source = measured.source;
  figure.coverage = std::min(1.0, measured.covered_seconds / measured.run_seconds);
  figure.quality = measured.shared_because.empty() ? Quality::exclusive : Quality::shared;
  figure.reason = measured.shared_because;
  return figure;
}

void GpuMeter::add(double at, const GpuValues& values) {
  if (values.watts) watts_.add(at, *values.watts);
  if (values.celsius) celsius_.add(at, *values.celsius);
  if (values.percent) percent_.add(at, *values.percent);
  if (!values.counter) return;
  counter_.add(at, *values.counter);
  if (counter_.just_broke()) {
    // The driver was reloaded. The sampled power, if there is any, gives the energy of the gap.
    const double sampled = watts_.covered_seconds() - covered_then_;
    if (sampled > kNearlyAll * counter_.broke_seconds()) {
      counter_.bridge(watts_.area() - area_then_, counter_.broke_seconds());
      ++bridged_;
    }
  }
  area_then_ = watts_.area();
  covered_then_ = watts_.covered_seconds();
}

void GpuMeter::report(const Circumstances& circumstances, GpuFigures& figures) const {
  figures.integral = figure_of({.joules = watts_.area(),
                                .covered_seconds = watts_.covered_seconds(),
                                .run_seconds = circumstances.seconds,
                                .source = "nvml_power",
                                .missing_because = circumstances.no_power_because,
                                .shared_because = circumstances.shared_because});
  figures.counter = figure_of({.joules = counter_.joules(),
                               .covered_seconds = counter_.covered_seconds(),
                               .run_seconds = circumstances.seconds,
                               .source = bridged_ > 0 ? "nvml_counter+nvml_power" : "nvml_counter",
                               .missing_because = circumstances.no_energy_because,
                               .shared_because = circumstances.shared_because});
  figures.counter_resets = counter_.breaks();
  figures.samples = watts_.samples();
  figures.watts = range_of(watts_);
  figures.celsius = range_of(celsius_);
  figures.percent = range_of(percent_);
  const bool counter_serves =
      figures.counter.joules && (figures.counter.coverage >= kNearlyAll ||
                                 figures.counter.coverage >= figures.integral.coverage);
  figures.energy = counter_serves ? figures.counter : figures.integral;
  if (!figures.counter.joules && !figures.integral.joules) {
    figures.energy =
        unavailable(figures.counter.reason == figures.integral.reason
                        ? figures.counter.reason
                        : fmt::format("{}; {}", figures.counter.reason, figures.integral.reason));
  }
}

}  // namespace plimsoll::energy
