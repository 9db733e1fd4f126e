// Whether a failed attempt is worth another, by its cause. Pure.
#pragma once

#include <string>
#include <vector>

#include "experiment/terms.h"
#include "experiment/values.h"

namespace plimsoll::experiment {

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
