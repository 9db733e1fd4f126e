#include "energy/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "energy/sources.h"

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

namespace {

constexpr double kBeginLookSeconds = 0.01;  // how often to check whether the run has started
constexpr double kFirstLookSeconds = 1;     // from the first look at the GPUs to the second
constexpr double kLookCost = 200;           // looks take at most 1/200 of the time
constexpr double kJoulesPerMillijoule = 1e-3;

std::vector<unsigned> indices_of(const std::vector<GpuDevice>& devices) {
  std::vector<unsigned> indices;
  indices.reserve(devices.size());
  for (const GpuDevice& device : devices) indices.push_back(device.index);
  return indices;
}

// No folder or no GPU: no file.
std::filesystem::path series_file(const MeterOptions& options, const Sources& sources,
                                  const char* name) {
  if (options.folder.empty() || sources.devices.empty()) return {};
  return options.folder / name;
}

std::optional<double> as_double(const std::optional<unsigned>& value) {
  if (!value) return {};
  return static_cast<double>(*value);
}

template <typename Member>
Series::Values values_of(const Reading& reading, Member member) {
  Series::Values values;
  for (const GpuValues& gpu : reading.gpus) values.push_back(gpu.*member);
  return values;
}

std::optional<Cumulative> line_between(const std::optional<Cumulative>& before,
                                       const std::optional<Cumulative>& after, double share) {
  if (!before || !after || before->segment != after->segment) return {};
  return Cumulative{.joules = before->joules + share * (after->joules - before->joules),
                    .segment = before->segment};
}

}  // namespace

Reading between(const Reading& before, const Reading& after, double at) {
  const double gap = after.at - before.at;
  const double share = gap > 0 ? (at - before.at) / gap : 0;
  Reading made{.at = at, .epoch = before.epoch + at - before.at};
  for (size_t i = 0; i < before.cpu.size(); ++i) {
    made.cpu.push_back(line_between(before.cpu[i], after.cpu[i], share));
  }
  for (size_t i = 0; i < before.gpus.size(); ++i) {
    const GpuValues& first = before.gpus[i];
    const GpuValues& second = after.gpus[i];
    GpuValues values{.counter = line_between(first.counter, second.counter, share)};
    if (first.watts && second.watts && gap <= kMostPowerGapSeconds) {
      values.watts = *first.watts + share * (*second.watts - *first.watts);
    }
    made.gpus.push_back(values);
  }
  return made;
}

Meter::Meter(Sources& sources, MeterOptions options)
    : sources_(sources),
      options_(std::move(options)),
      indices_(indices_of(sources.devices)),
      gpu_counters_(indices_.size(), RisingCounter(kJoulesPerMillijoule, 0)),
      gpus_(indices_.size()),
      neighbours_(indices_.size()),
      cpu_(sources.cpu.domains().size()),
      no_power_because_(indices_.size()),
      no_energy_because_(indices_.size()),
      power_(series_file(options_, sources, "gpu_power.csv"), {{"power_draw_w"}}, indices_),
      temperature_(
          series_file(options_, sources, "gpu_temperature.csv"),
          {{"gpu_temp_c", Series::Together::largest}, {"memory_temp_c", Series::Together::largest}},
          indices_),
      utilisation_(series_file(options_, sources, "gpu_utilization.csv"),
                   {{"gpu_util_percent", Series::Together::mean},
                    {"memory_util_percent", Series::Together::mean}},
                   indices_) {}

double Meter::tick() {
  const double now = sources_.now();
  if (!begun_) {
    if (options_.begun && !options_.begun()) return now + kBeginLookSeconds;
    begin(now);
    watched_ = true;
  }
  if (now >= next_read_) {
    const bool slow_ones = now >= next_slow_;
    if (slow_ones) next_slow_ = now + kSlowSeconds;
    read(slow_ones);
    next_read_ += kSampleSeconds;
    if (next_read_ <= now) next_read_ = now + kSampleSeconds;  // late: skip the missed readings
  }
  // After the reading, because looking takes longer.
  if (now >= next_look_) look();
  count_until(now - kHoldSeconds);
  return next_read_;
}

void Meter::begin(double now) {
  begun_ = true;
  began_at_ = next_read_ = next_slow_ = next_look_ = now;
  host_before_ = busy_cpu_seconds(sources_.proc);
  own_before_ = sources_.own_cpu_seconds();
}

void Meter::read(bool slow_ones) {
  const double now = sources_.now();
  Reading reading{.at = now, .epoch = sources_.epoch(), .cpu = sources_.cpu.read(now)};
  if (sources_.gpus) {
    const auto samples = sources_.gpus->sample(indices_, slow_ones);
    for (size_t i = 0; i < samples.size(); ++i) {
      const meter::GpuSample& sample = samples[i];
      GpuValues values{.watts = sample.power_watts};
      if (sample.energy_millijoules) {
        values.counter = gpu_counters_[i].add(now, *sample.energy_millijoules);
      }
      if (!sample.no_power_because.empty()) no_power_because_[i] = sample.no_power_because;
      if (!sample.no_energy_because.empty()) no_energy_because_[i] = sample.no_energy_because;
      if (slow_ones) {
        values.celsius = as_double(sample.temperature_celsius);
        values.memory_celsius = as_double(sample.memory_temperature_celsius);
        values.percent = as_double(sample.utilisation_percent);
        values.memory_percent = as_double(sample.memory_utilisation_percent);
      }
      reading.gpus.push_back(values);
    }
  }
  held_.push_back(std::move(reading));
}

void Meter::look() {
  const double began = sources_.now();
  const bool first = !std::exchange(looked_, true);
  next_look_ = began + (first ? kFirstLookSeconds : kLookSeconds);
  if (!sources_.gpus) return;
  try {
    for (const meter::GpuReading& gpu : sources_.gpus->read()) {
      const auto found = std::ranges::find(indices_, gpu.index);
      if (found == indices_.end()) continue;
      Neighbours& neighbours = neighbours_[static_cast<size_t>(found - indices_.begin())];
      if (first) {
        neighbours.look_before(gpu, sources_.is_ours);
      } else {
        neighbours.look(gpu, sources_.is_ours);
      }
    }
  } catch (const Error& error) {
    look_failure_ = error.what();
  }
  next_look_ = std::max(next_look_, began + kLookCost * (sources_.now() - began));
}

void Meter::count_until(double at) {
  while (!held_.empty() && held_.front().at <= at) {
    count(held_.front());
    last_ = std::move(held_.front());
    held_.pop_front();
  }
}

void Meter::count(const Reading& reading) {
  for (size_t i = 0; i < cpu_.size(); ++i) {
    if (reading.cpu[i]) cpu_[i].add(reading.at, *reading.cpu[i]);
  }
  for (size_t i = 0; i < reading.gpus.size(); ++i) gpus_[i].add(reading.at, reading.gpus[i]);
  if (reading.gpus.empty()) return;
  const auto watts = values_of(reading, &GpuValues::watts);
  if (const auto sum = combined(watts, Series::Together::sum)) all_watts_.add(reading.at, *sum);
  power_.add(reading.epoch, {watts});
  temperature_.add(reading.epoch, {values_of(reading, &GpuValues::celsius),
                                   values_of(reading, &GpuValues::memory_celsius)});
  utilisation_.add(reading.epoch, {values_of(reading, &GpuValues::percent),
                                   values_of(reading, &GpuValues::memory_percent)});
}

void Meter::stop() {
  if (!begun_ && options_.begun && !options_.begun()) return;
  if (!begun_) begin(sources_.now());
  read(true);
  stopped_at_ = held_.back().at;
  look();
  host_after_ = busy_cpu_seconds(sources_.proc);
}

// Readings after the end are used only to interpolate the value at the end.
void Meter::end_at(double at) {
  count_until(at);
  if (!held_.empty() && last_ && last_->at < at) {
    count(between(*last_, held_.front(), at));
  }
  held_.clear();
}

EnergyReport Meter::report(std::optional<double> run_seconds) {
  EnergyReport report;
  if (!begun_) {
    const Figure never = unavailable("the run did not start");
    report.cpu = {.package = never, .memory = never, .total = never};
    report.all_gpus = never;
    return report;
  }
  const double measured = stopped_at_ - began_at_;
  report.seconds = run_seconds.value_or(measured);
  end_at(std::min(began_at_ + report.seconds, stopped_at_));
  report.cpu = cpu_figures(report.seconds);
  report.no_gpus_because = sources_.no_gpus_because;
  gpu_figures(report.seconds, report);
  for (Series* series : {&power_, &temperature_, &utilisation_}) series->close();
  return report;
}

CpuFigures Meter::cpu_figures(double seconds) {
  const CpuUse use{.seconds = stopped_at_ - began_at_,
                   .own_seconds = std::max(0.0, sources_.own_cpu_seconds() - own_before_),
                   .host_seconds = host_before_ && host_after_
                                       ? std::optional(*host_after_ - *host_before_)
                                       : std::nullopt};
  CpuFigures figures;
  if (watched_) {
    figures.own_seconds = use.own_seconds;
    if (use.host_seconds) figures.other_seconds = other_cpu_seconds(use);
  }
  const CpuCounters& counters = sources_.cpu;
  if (counters.domains().empty()) {
    figures.package = figures.memory = figures.total = unavailable(counters.missing_because());
    return figures;
  }
  const std::string shared = cpu_shared_because(use);
  std::vector<Figure> packages;
  std::vector<Figure> memories;
  for (size_t i = 0; i < cpu_.size(); ++i) {
    auto& kind = counters.domains()[i].is_memory ? memories : packages;
    kind.push_back(figure_of({.joules = cpu_[i].joules(),
                              .covered_seconds = cpu_[i].covered_seconds(),
                              .run_seconds = seconds,
                              .source = counters.source(),
                              .missing_because = counters.read_failure(),
                              .shared_because = shared}));
    if (!kind.back().joules && kind.back().reason.find("did not move") != std::string::npos) {
      kind.back().reason = counters.domains()[i].file + ": " + kind.back().reason;
    }
  }
  figures.package = sum_of(packages);
  figures.memory = memories.empty()
                       ? unavailable(counters.source() + " has no domain for memory here")
                       : sum_of(memories);
  // Without a memory counter, the total is the packages' energy, in every run on this machine.
  figures.total = memories.empty() ? figures.package : sum_of({figures.package, figures.memory});
  return figures;
}

void Meter::gpu_figures(double seconds, EnergyReport& report) {
  std::vector<Figure> energies;
  Series::Values celsius;
  Series::Values hottest;
  Series::Values percent;
  Series::Values busiest;
  for (size_t i = 0; i < gpus_.size(); ++i) {
    const GpuDevice& device = sources_.devices[i];
    GpuFigures figures{.index = device.index, .uuid = device.uuid, .name = device.name};
    std::string shared = neighbours_[i].shared_because();
    if (shared.empty() && !look_failure_.empty()) {
      shared = "cannot tell who else used it: " + look_failure_;
    }
    gpus_[i].report({.seconds = seconds,
                     .shared_because = shared,
                     .no_power_because = no_power_because_[i],
                     .no_energy_because = no_energy_because_[i]},
                    figures);
    energies.push_back(figures.energy);
    celsius.push_back(figures.celsius.mean);
    hottest.push_back(figures.celsius.largest);
    percent.push_back(figures.percent.mean);
    busiest.push_back(figures.percent.largest);
    report.gpus.push_back(std::move(figures));
  }
  report.all_gpus = energies.empty() ? unavailable(report.no_gpus_because) : sum_of(energies);
  report.all_watts = range_of(all_watts_);
  report.all_celsius = {.mean = combined(celsius, Series::Together::mean),
                        .smallest = {},
                        .largest = combined(hottest, Series::Together::largest)};
  report.all_percent = {.mean = combined(percent, Series::Together::mean),
                        .smallest = {},
                        .largest = combined(busiest, Series::Together::largest)};
}

}  // namespace plimsoll::energy
