// Whether an attempt was a success: its exit code, and what the config expects besides. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiment/metrics.h"
#include "experiment/terms.h"

namespace plimsoll::experiment {

struct AttemptFacts {
  Cause cause = Cause::success;
  double seconds = 0;
};

struct Success {
  bool good = false;
  Cause cause = Cause::success;              // the attempt's, or expectation_unmet
  std::string reason;                        // what was unmet; empty where nothing was
  std::vector<std::string> missing_metrics;  // whose pattern never matched
};

// The patterns that LogReader must look for.
std::vector<std::string> patterns_of(const Terms& terms);

Success judge_success(const AttemptFacts& attempt, const std::vector<MetricPattern>& metrics,
                      const Terms& terms, const LogReader& log);

// A run far shorter than others of the same training: "3.9 s, where others took 20 min (median)".
// `others` are successful durations.
std::optional<std::string> suspiciously_short(double seconds, std::vector<double> others);

}  // namespace plimsoll::experiment
