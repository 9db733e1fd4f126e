#include "experiment/retry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace plimsoll::experiment {
namespace {

enum class Hope {
  none,     // it would end the same way
  again,    // somebody else was the reason
  once,     // it may have been chance
  smaller,  // not with these values
};

Hope hope_after(Cause cause) {
  switch (cause) {
    case Cause::own_memory_limit:
    case Cause::memory_refused:
    case Cause::gpu_memory_own:
      return Hope::smaller;
    case Cause::host_out_of_memory:
    case Cause::killed:
    case Cause::gpu_memory_neighbour:
    case Cause::not_admitted:
      return Hope::again;
    case Cause::gpu_failed:
    case Cause::segfault:
    case Cause::crashed:
    case Cause::timed_out:
    case Cause::hung:
      return Hope::once;
    case Cause::success:
    case Cause::failed:
    case Cause::interrupted:
    case Cause::shared_memory_full:
    case Cause::broken_pipe:
    case Cause::missing_dependency:
    case Cause::disk_full:
    case Cause::not_supervised:
    case Cause::not_started:
    case Cause::expectation_unmet:
    case Cause::no_result:
    case Cause::background_invalid:
    case Cause::driver_ended:
      return Hope::none;
  }
  return Hope::none;
}

Hope hope_of(Cause cause, const Terms& terms) {
  const Hope hope = hope_after(cause);
  if (!terms.retry_on) return hope;
  if (std::ranges::find(*terms.retry_on, cause) == terms.retry_on->end()) return Hope::none;
  return hope == Hope::smaller && terms.shrink ? Hope::smaller : Hope::again;
}

Retry shrunk(std::string_view cause, const Terms& terms, const Values& values) {
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

std::vector<std::string> retryable_causes() {
  std::vector<std::string> names;
  for (const std::string_view name : diagnosis::cause_names()) {
    const Cause cause = *diagnosis::cause_named(name);
    if (cause != Cause::success && cause != Cause::driver_ended) names.emplace_back(name);
  }
  return names;
}

Retry decide(const FailedAttempt& attempt, unsigned max_retries, const Terms& terms,
             const Values& values) {
  const std::string_view cause = diagnosis::name(attempt.cause);
  if (attempt.number > max_retries) {
    return {.reason = fmt::format("{}: no retry left of {}", cause, max_retries)};
  }
  switch (hope_of(attempt.cause, terms)) {
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
