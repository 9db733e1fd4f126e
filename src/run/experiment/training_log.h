// The metrics of a training step by step, from its log: the n-th line in which a metric appears is
// its n-th step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/text_file.h"
#include "experiment/metrics.h"
#include "experiment/stop_rule.h"

namespace plimsoll::experiment {

// Follows the log of a running training and reports each step of the objective's metric.
class LogFollower {
 public:
  // `patterns` must have one for the objective's metric.
  LogFollower(std::filesystem::path log, const std::vector<MetricPattern>& patterns,
              const Objective& objective);
  LogFollower(const LogFollower&) = delete;
  LogFollower& operator=(const LogFollower&) = delete;

  // The reports in the lines that were added since the last call. The log may not exist yet.
  std::vector<Report> read();
  // The same after the training has ended: the last line may have no end.
  std::vector<Report> finish();
  uint64_t steps() const { return curve_.steps(); }

 private:
  void take(std::string_view line);

  std::filesystem::path log_;
  std::string metric_;
  LogReader reader_;
  Curve curve_;
  Fd file_;
  std::vector<Report> reports_;
  LineSplitter lines_;
};

// All metrics as they were when the metric of the objective was reported for the `step`-th time.
std::map<std::string, Value> metrics_at(const std::filesystem::path& log,
                                        const std::vector<MetricPattern>& patterns,
                                        const Objective& objective, uint64_t step);

constexpr size_t kMostSteps = 100'000;  // of a metric; later ones are left out

// A metric over the steps of a training.
struct MetricCurve {
  std::string metric;
  std::vector<double> values;
};

// One for each pattern, in their order. A log that is missing has no steps.
std::vector<MetricCurve> curves_of(const std::filesystem::path& log,
                                   const std::vector<MetricPattern>& patterns);

}  // namespace plimsoll::experiment
