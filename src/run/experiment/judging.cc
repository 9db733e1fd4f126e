#include "experiment/judging.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/units.h"

namespace plimsoll::experiment {
namespace {

constexpr double kShortShare = 0.1;  // of the median of the others
constexpr size_t kOthersNeeded = 2;
constexpr double kMatterFrom = 10;  // seconds; shorter durations say nothing

std::string unmet(const AttemptFacts& attempt, const Success& judged,
                  const std::vector<MetricPattern>& metrics, const Terms& terms,
                  const LogReader& log) {
  if (!terms.expect) {
    if (metrics.empty() || !log.metrics().empty()) return "";
    return fmt::format("exit code 0, but none of its metrics is in the log: {}",
                       fmt::join(judged.missing_metrics, ", "));
  }
  const Expectation& expect = *terms.expect;
  for (const std::string& metric : expect.metrics) {
    if (!log.metrics().contains(metric)) {
      return fmt::format("exit code 0, but the metric {} is not in the log", metric);
    }
  }
  if (attempt.seconds < expect.least_seconds) {
    return fmt::format("exit code 0 after {}; at least {} were expected",
                       format_seconds(attempt.seconds), format_seconds(expect.least_seconds));
  }
  for (const std::string& pattern : expect.must_match) {
    if (!log.matched(pattern)) return fmt::format("no line of the log matches '{}'", pattern);
  }
  for (const std::string& pattern : expect.must_not_match) {
    if (log.matched(pattern)) return fmt::format("a line of the log matches '{}'", pattern);
  }
  return "";
}

}  // namespace

std::vector<std::string> patterns_of(const Terms& terms) {
  if (!terms.expect) return {};
  std::vector<std::string> patterns = terms.expect->must_match;
  patterns.insert(patterns.end(), terms.expect->must_not_match.begin(),
                  terms.expect->must_not_match.end());
  return patterns;
}

Success judge_success(const AttemptFacts& attempt, const std::vector<MetricPattern>& metrics,
                      const Terms& terms, const LogReader& log) {
  Success judged{.cause = attempt.cause};
  for (const MetricPattern& metric : metrics) {
    if (!log.metrics().contains(metric.name)) judged.missing_metrics.push_back(metric.name);
  }
  if (attempt.cause != Cause::success) return judged;
  judged.reason = unmet(attempt, judged, metrics, terms, log);
  judged.good = judged.reason.empty();
  if (!judged.good) judged.cause = Cause::expectation_unmet;
  return judged;
}

std::optional<std::string> suspiciously_short(double seconds, std::vector<double> others) {
  if (others.size() < kOthersNeeded) return std::nullopt;
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::nth_element(others.begin(), middle, others.end());
  if (*middle < kMatterFrom || seconds >= kShortShare * *middle) return std::nullopt;
  return fmt::format("it took {}, but others took {} (median)", format_seconds(seconds),
                     format_seconds(*middle));
}

namespace {

enum class Hope {
  none,     // do not repeat: it would end the same way
  again,    // repeat: the cause was outside the training
  once,     // repeat once: it may have been chance
  smaller,  // repeat only with smaller values
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
    case Cause::stopped_early:
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
    return {.reason = fmt::format("{}: no `shrink` says which parameter to reduce", cause)};
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
    return {.reason = fmt::format("{}: {} is at its minimum, {}", cause, shrink.parameter,
                                  text_of(*now))};
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
    const bool no_failure = cause == Cause::success || cause == Cause::stopped_early;
    if (!no_failure && cause != Cause::driver_ended) names.emplace_back(name);
  }
  return names;
}

Retry decide(const FailedAttempt& attempt, unsigned max_retries, const Terms& terms,
             const Values& values) {
  const bool own = attempt.cause == Cause::failed;  // an exit code of the training itself
  const std::string_view cause = own ? "own error" : diagnosis::name(attempt.cause);
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
