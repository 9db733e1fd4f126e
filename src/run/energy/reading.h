// What was read at one moment.
#pragma once

#include <optional>
#include <vector>

#include "energy/counter.h"

namespace plimsoll::energy {

struct GpuValues {
  std::optional<double> watts;
  std::optional<Cumulative> counter;
  // About once a second.
  std::optional<double> celsius, memory_celsius, percent, memory_percent;
};

struct Reading {
  double at = 0;     // a clock that never goes backwards
  double epoch = 0;  // the time of day
  std::vector<std::optional<Cumulative>> cpu;
  std::vector<GpuValues> gpus;
};

}  // namespace plimsoll::energy
