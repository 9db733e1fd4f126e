// Whether a failed attempt is worth another, by its cause. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/terms.h"
#include "experiment/values.h"

namespace plimsoll::experiment {

// Causes of our own, besides those of diagnosis::Cause.
constexpr std::string_view kUnmet = "expectation_unmet";        // ended well, without what it owes
constexpr std::string_view kNoResult = "no_result";             // ended, and nobody knows how
constexpr std::string_view kBackground = "background_invalid";  // the load beside it was none
// Of an attempt of which nobody saw the end; not among cause_names(): it decides nothing.
constexpr std::string_view kDriverEnded = "driver_ended";
const std::vector<std::string>& cause_names();

struct Retry {
  enum class Move { stop, same, smaller };
  Move move = Move::stop;
  Values values;       // of the next attempt
  std::string reason;  // for people and the journal
};

struct FailedAttempt {
  std::string cause;
  unsigned number = 1;                 // from 1
  unsigned times_with_that_cause = 1;  // this one included
};

Retry decide(const FailedAttempt& attempt, unsigned max_retries, const Terms& terms,
             const Values& values);

}  // namespace plimsoll::experiment
