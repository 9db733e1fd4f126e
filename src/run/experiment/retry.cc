#include "experiment/retry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace plimsoll::experiment {
namespace {

enum class Hope {
  none,     // it would end the same way
  again,    // somebody else was the reason
  once,     // it may have been chance
  smaller,  // not with these values
};

struct Rule {
  std::string_view cause;
  Hope hope;
};

constexpr std::array kRules = {
    Rule{"failed", Hope::none},
    Rule{"own_memory_limit", Hope::smaller},
    Rule{"host_out_of_memory", Hope::again},
    Rule{"memory_refused", Hope::smaller},
    Rule{"killed", Hope::again},
    Rule{"interrupted", Hope::none},
    Rule{"gpu_memory_own", Hope::smaller},
    Rule{"gpu_memory_neighbour", Hope::again},
    Rule{"gpu_failed", Hope::once},
    Rule{"shared_memory_full", Hope::none},
    Rule{"broken_pipe", Hope::none},
    Rule{"segfault", Hope::once},
    Rule{"crashed", Hope::once},
    Rule{"timed_out", Hope::once},
    Rule{"hung", Hope::once},
    Rule{"missing_dependency", Hope::none},
    Rule{"disk_full", Hope::none},
    Rule{"not_admitted", Hope::again},
    Rule{"not_supervised", Hope::none},
    Rule{"not_started", Hope::none},
    Rule{kUnmet, Hope::none},
    Rule{kNoResult, Hope::none},
    Rule{kBackground, Hope::none},
};

Hope hope_of(const std::string& cause, const Terms& terms) {
  const auto* rule = std::find_if(kRules.begin(), kRules.end(),
                                  [&](const Rule& candidate) { return candidate.cause == cause; });
  const Hope hope = rule == kRules.end() ? Hope::none : rule->hope;
  if (!terms.retry_on) return hope;
  const bool named =
      std::find(terms.retry_on->begin(), terms.retry_on->end(), cause) != terms.retry_on->end();
  if (!named) return Hope::none;
  return hope == Hope::smaller && terms.shrink ? Hope::smaller : Hope::again;
}

Retry shrunk(const std::string& cause, const Terms& terms, const Values& values) {
  if (!terms.shrink) {
    return {.reason = fmt::format("{}: no `shrink` says what could be smaller", cause)};
  }
  const Shrink& shrink = *terms.shrink;
  const Value* now = values.find(shrink.parameter);
  if (now == nullptr) {
    return {.reason =
                fmt::format("{}: shrink names {}, which has no value", cause, shrink.parameter)};
  }
  double smaller = now->number * shrink.factor;
  if (now->whole) smaller = std::floor(smaller);
  smaller = std::max(smaller, shrink.least);
  if (smaller >= now->number) {
    return {.reason =
                fmt::format("{}: {} is at its least, {}", cause, shrink.parameter, text_of(*now))};
  }
  Retry retry{.move = Retry::Move::smaller, .values = values};
  retry.values.set(shrink.parameter, {.number = smaller, .whole = now->whole});
  retry.reason = fmt::format("{}: {} {} instead of {}", cause, shrink.parameter,
                             text_of(*retry.values.find(shrink.parameter)), text_of(*now));
  return retry;
}

}  // namespace

const std::vector<std::string>& cause_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    all.reserve(kRules.size());
    for (const Rule& rule : kRules) all.emplace_back(rule.cause);
    return all;
  }();
  return names;
}

Retry decide(const FailedAttempt& attempt, unsigned max_retries, const Terms& terms,
             const Values& values) {
  const std::string& cause = attempt.cause;
  if (attempt.number > max_retries) {
    return {.reason = fmt::format("{}: no retry left of {}", cause, max_retries)};
  }
  switch (hope_of(cause, terms)) {
    case Hope::none:
      return {.reason = fmt::format("{}: it would end the same way again", cause)};
    case Hope::once:
      if (attempt.times_with_that_cause > 1) {
        return {.reason = fmt::format("{} twice: it would end the same way again", cause)};
      }
      [[fallthrough]];
    case Hope::again:
      return {.move = Retry::Move::same,
              .values = values,
              .reason = fmt::format("{}: the same values again", cause)};
    case Hope::smaller:
      return shrunk(cause, terms, values);
  }
  return {};
}

}  // namespace plimsoll::experiment
