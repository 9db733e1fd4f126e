// Judges an attempt: whether it succeeded, and whether a failed one should be repeated. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiment/metrics.h"
#include "experiment/terms.h"
#include "experiment/values.h"

namespace plimsoll::experiment {

struct AttemptFacts {
  Cause cause = Cause::success;
  double seconds = 0;
};

struct Success {
  bool good = false;
  Cause cause = Cause::success;              // the attempt's cause, or expectation_unmet
  std::string reason;                        // which expectation was not met; empty if all were
  std::vector<std::string> missing_metrics;  // their patterns never matched
};

// The patterns that LogReader must look for.
std::vector<std::string> patterns_of(const Terms& terms);

// An attempt succeeds if its exit code is 0 and it meets the config's expectations.
Success judge_success(const AttemptFacts& attempt, const std::vector<MetricPattern>& metrics,
                      const Terms& terms, const LogReader& log);

// A message if the run was far shorter than others of the same training: "it took 3.9 s, but others
// took 20 min (median)". `others` are durations of successful runs.
std::optional<std::string> suspiciously_short(double seconds, std::vector<double> others);

// The names of all causes that `retry_on` may contain.
std::vector<std::string> retryable_causes();

struct Retry {
  enum class Move { stop, same, smaller };
  Move move = Move::stop;
  Values values;       // of the next attempt
  std::string reason;  // for messages and the journal
};

struct FailedAttempt {
  Cause cause = Cause::failed;
  unsigned number = 1;                 // from 1
  unsigned times_with_that_cause = 1;  // including this one
};

// Decides by the cause of a failed attempt whether to repeat it, and with which values.
Retry decide(const FailedAttempt& attempt, unsigned max_retries, const Terms& terms,
             const Values& values);

}  // namespace plimsoll::experiment
