#include "experiment/success.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "experiment/retry.h"

namespace plimsoll::experiment {
namespace {

constexpr double kShortShare = 0.1;  // of the median of the others
constexpr size_t kOthersNeeded = 2;
constexpr double kMatterFrom = 10;  // seconds: below, durations say nothing

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
  return fmt::format("it took {}, where others took {} (median)", format_seconds(seconds),
                     format_seconds(*middle));
}

}  // namespace plimsoll::experiment
