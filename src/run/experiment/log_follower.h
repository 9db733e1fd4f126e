// Follows the log of a running training and reports each line in which the metric of the objective
// appears. The n-th such line is the n-th step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/text_file.h"
#include "experiment/metrics.h"
#include "experiment/stopping.h"

namespace plimsoll::experiment {

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

}  // namespace plimsoll::experiment
