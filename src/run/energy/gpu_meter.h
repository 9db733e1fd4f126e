// The energy of one GPU over a run, from its readings in order of time.
#pragma once

#include <string>

#include "energy/counter.h"
#include "energy/report.h"
#include "energy/series.h"

namespace plimsoll::energy {

// Power is sampled more than ten times a second. A gap longer than this counts as not covered.
constexpr double kMostPowerGapSeconds = 1;
constexpr double kMostSlowGapSeconds = 5;  // the same for temperature and utilisation

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

}  // namespace plimsoll::energy
