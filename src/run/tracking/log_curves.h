// The metrics of a training over its steps, from its log: the n-th line in which a metric appears
// is its n-th step.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "experiment/metrics.h"

namespace plimsoll::tracking {

constexpr size_t kMostSteps = 100'000;  // of a metric; later ones are left out

struct MetricCurve {
  std::string metric;
  std::vector<double> values;
};

// One for each pattern, in their order. A log that is missing has no steps.
std::vector<MetricCurve> curves_of(const std::filesystem::path& log,
                                   const std::vector<experiment::MetricPattern>& patterns);

}  // namespace plimsoll::tracking
