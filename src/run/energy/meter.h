// Measures the energy of one run with regular readings from its start to its end. It has no thread
// and no clock of its own; recorder.h provides both.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "energy/counter.h"
#include "energy/report.h"
#include "energy/series.h"
#include "energy/sources.h"

namespace plimsoll::energy {

// Power is sampled more than ten times a second. A gap longer than this counts as not covered.
constexpr double kMostPowerGapSeconds = 1;
constexpr double kMostSlowGapSeconds = 5;  // the same for temperature and utilisation

// The energy of one GPU over a run, from its readings in order of time.
class GpuMeter {
 public:
  void add(double at, const GpuValues& values);

  // `seconds`: duration of the run; `shared_because`: empty if no other process used the GPU.
  struct Circumstances {
    double seconds = 0;
    std::string shared_because;
    std::string no_power_because;
    std::string no_energy_because;
  };
  void report(const Circumstances& circumstances, GpuFigures& figures) const;

 private:
  Integral watts_{kMostPowerGapSeconds};
  Integral celsius_{kMostSlowGapSeconds};
  Integral percent_{kMostSlowGapSeconds};
  CounterSum counter_;
  unsigned bridged_ = 0;
  // The integral's area and covered time when the counter was last read.
  double area_then_ = 0;
  double covered_then_ = 0;
};

// Input of figure_of(): joules that cover some seconds of a run.
struct Measured {
  double joules = 0;
  double covered_seconds = 0;
  double run_seconds = 0;
  std::string source;
  std::string missing_because;  // the reason, if nothing is covered
  std::string shared_because;
};
// Unavailable if no time is covered or the counter did not move.
Figure figure_of(const Measured& measured);

Range range_of(const Integral& integral);

constexpr double kSampleSeconds = 0.08;  // 12.5 times a second
constexpr double kSlowSeconds = 1;       // temperature and utilisation
constexpr double kLookSeconds = 5;       // looks for other processes on the GPUs
// Readings are held this long before they count. The end of a run is known only later, when its
// supervisor has seen the GPU memory freed, and readings after the end must not count.
constexpr double kHoldSeconds = 20;

struct MeterOptions {
  std::filesystem::path folder;  // for the CSV series; must exist. Empty: no files are written
  std::function<bool()> begun;   // whether the run has started; empty: it has
};

class Meter {
 public:
  // `sources` must outlive the meter.
  Meter(Sources& sources, MeterOptions options);

  // Does what is due and returns the time of the next call.
  double tick();
  // Takes the last reading. Call it when the run has ended.
  void stop();
  // Call it after stop(), when all processes of the run have been waited for. `run_seconds`: the
  // duration of the run, if it is known more exactly than the time from start to stop.
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
  std::deque<Reading> held_;  // the readings of the last kHoldSeconds
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
  bool watched_ = false;  // measured from the start; otherwise only the end was seen
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

// The linear interpolation between two readings.
Reading between(const Reading& before, const Reading& after, double at);

}  // namespace plimsoll::energy
