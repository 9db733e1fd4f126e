// What one GPU took over a run, from the readings in their order.
#pragma once

#include <string>

#include "energy/counter.h"
#include "energy/report.h"
#include "energy/series.h"

namespace plimsoll::energy {

// Power is sampled more than ten times a second; where no sample came for this long, the time
// counts as not covered.
constexpr double kMostPowerGapSeconds = 1;
constexpr double kMostSlowGapSeconds = 5;  // of temperature and utilisation

class GpuMeter {
 public:
  void add(double at, const GpuValues& values);

  // `seconds`: of the run; `shared_because`: empty where it was ours alone.
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
  // Of the integral, when the counter was read last.
  double area_then_ = 0;
  double covered_then_ = 0;
};

// A figure from joules that cover some seconds of a run. Nothing covered, or a counter that stands
// still, is no figure.
struct Measured {
  double joules = 0;
  double covered_seconds = 0;
  double run_seconds = 0;
  std::string source;
  std::string missing_because;  // in case it is
  std::string shared_because;
};
Figure figure_of(const Measured& measured);

Range range_of(const Integral& integral);

}  // namespace plimsoll::energy
