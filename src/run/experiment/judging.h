// Judging an attempt: whether it was a success, and whether a failed one is worth another. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiment/metrics.h"
#include "experiment/terms.h"
#include "experiment/values.h"

namespace plimsoll::experiment {

// Whether an attempt was a success: its exit code, and what the config expects besides. Pure.

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

// Whether a failed attempt is worth another, by its cause. Pure.

// The names of all causes that a batch may name in `retry_on`.
std::vector<std::string> retryable_causes();

struct Retry {
  enum class Move { stop, same, smaller };
  Move move = Move::stop;
  Values values;       // of the next attempt
  std::string reason;  // for people and the journal
};

struct FailedAttempt {
  Cause cause = Cause::failed;
  unsigned number = 1;                 // from 1
  unsigned times_with_that_cause = 1;  // this one included
};

Retry decide(const FailedAttempt& attempt, unsigned max_retries, const Terms& terms,
             const Values& values);

}  // namespace plimsoll::experiment
