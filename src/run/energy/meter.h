// Measures one run: readings at regular times, from the moment it began until the moment it ended.
// Has no thread and no clock of its own; recorder.h gives it both.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "energy/counter.h"
#include "energy/gpu_meter.h"
#include "energy/report.h"
#include "energy/series.h"
#include "energy/sources.h"

namespace plimsoll::energy {

constexpr double kSampleSeconds = 0.08;  // 12.5 times a second
constexpr double kSlowSeconds = 1;       // temperature and utilisation
constexpr double kLookSeconds = 5;       // who else is on the GPUs
// Readings wait this long before they count: a run's end is known only when its supervisor has seen
// its GPU memory come back, and what came after the end is left out.
constexpr double kHoldSeconds = 20;

struct MeterOptions {
  std::filesystem::path folder;  // for the series; exists. Empty: none are written
  std::function<bool()> begun;   // whether the run has; empty: it has
};

class Meter {
 public:
  // `sources` must stay.
  Meter(Sources& sources, MeterOptions options);

  // Does what is due, and returns when to come again.
  double tick();
  // The last reading, once the run has ended.
  void stop();
  // After stop(), when all processes of the run have been waited for. `run_seconds`: how long the
  // run itself took, where that is known better than by begin and stop.
  EnergyReport report(std::optional<double> run_seconds);

 private:
  void begin(double now);
  void read(bool slow_ones);
  void look();
  void count_until(double at);
  void count(const Reading& reading);
  void end_at(double at);
  CpuFigures cpu_figures(double seconds);
  void gpu_figures(double seconds, EnergyReport& report);

  Sources& sources_;
  MeterOptions options_;
  std::vector<unsigned> indices_;
  std::deque<Reading> held_;  // at most kHoldSeconds of them
  std::optional<Reading> last_;
  std::vector<RisingCounter> gpu_counters_;
  std::vector<GpuMeter> gpus_;
  std::vector<Neighbours> neighbours_;
  std::vector<CounterSum> cpu_;
  std::vector<std::string> no_power_because_;
  std::vector<std::string> no_energy_because_;
  Integral all_watts_{kMostPowerGapSeconds};
  Series power_;
  Series temperature_;
  Series utilisation_;
  bool begun_ = false;
  bool watched_ = false;  // from its beginning; else only its end was seen
  double began_at_ = 0;
  double stopped_at_ = 0;
  double next_read_ = 0;
  double next_slow_ = 0;
  double next_look_ = 0;
  bool looked_ = false;
  std::string look_failure_;
  std::optional<double> host_before_;
  std::optional<double> host_after_;
  double own_before_ = 0;
};

// Between two readings, by straight lines.
Reading between(const Reading& before, const Reading& after, double at);

}  // namespace plimsoll::energy
