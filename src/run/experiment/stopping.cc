#include "experiment/stopping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace plimsoll::experiment {
namespace {

// nan is worse than everything.
bool is_better(double one, double other, bool maximize) {
  if (std::isnan(one)) return false;
  if (std::isnan(other)) return true;
  return maximize ? one > other : one < other;
}

double median_of(std::vector<double> values, bool maximize) {
  std::sort(values.begin(), values.end(),
            [&](double a, double b) { return is_better(a, b, maximize); });
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

// A value is among the best 1/reduction if fewer than that many others are better. The first few
// experiments, of which 1/reduction is less than one, go on only if none was better.
StopDecision by_rank(const StopRule& rule, bool maximize, const Report& own,
                     const std::vector<Report>& before) {
  const auto better =
      static_cast<uint64_t>(std::count_if(before.begin(), before.end(), [&](const Report& other) {
        return is_better(other.value, own.value, maximize);
      }));
  const uint64_t all = before.size() + 1;
  const uint64_t kept = std::max<uint64_t>(1, all / rule.reduction);
  if (better < kept && !std::isnan(own.value)) return {};
  return {.stop = true,
          .reason = fmt::format("asha at step {}: {} is not among the best {} of {}", own.step,
                                own.value, kept, all)};
}

StopDecision by_median(bool maximize, const Report& own, const std::vector<Report>& before) {
  if (before.empty()) return {};
  std::vector<double> means;
  means.reserve(before.size());
  for (const Report& other : before) means.push_back(other.mean);
  const double median = median_of(std::move(means), maximize);
  if (!is_better(median, own.best, maximize)) return {};
  return {.stop = true,
          .reason = fmt::format("median at step {}: its best, {}, is worse than {}, the median of "
                                "the means of {} others",
                                own.step, own.best, median, before.size())};
}

}  // namespace

bool StopRule::decides_at(uint64_t step) const {
  if (step < min_steps) return false;
  if (policy == Policy::median) return step % min_steps == 0;
  uint64_t rung = min_steps;
  while (rung < step && rung <= step / reduction) rung *= reduction;
  return rung == step;
}

std::string_view name(StopRule::Policy policy) {
  return policy == StopRule::Policy::asha ? "asha" : "median";
}

std::string to_text(const Report& report) {
  return fmt::format("{} {} {} {}", report.step, report.value, report.best, report.mean);
}

std::optional<Report> report_of(const std::string& text) {
  Report report;
  const char* at = text.c_str();
  char* end = nullptr;
  report.step = std::strtoull(at, &end, 10);
  for (double* number : {&report.value, &report.best, &report.mean}) {
    if (end == at) return std::nullopt;
    at = end;
    *number = std::strtod(at, &end);
  }
  if (end == at || report.step == 0) return std::nullopt;
  return report;
}

Report Curve::add(double value) {
  ++steps_;
  if (steps_ == 1 || is_better(value, best_, maximize_)) best_ = value;
  sum_ += value;
  return {
      .step = steps_, .value = value, .best = best_, .mean = sum_ / static_cast<double>(steps_)};
}

StopDecision decide_stop(const StopRule& rule, bool maximize, const Report& own,
                         const std::vector<Report>& before) {
  return rule.policy == StopRule::Policy::asha ? by_rank(rule, maximize, own, before)
                                               : by_median(maximize, own, before);
}

void StopBoard::report(size_t experiment, const Report& report) {
  State& state = states_[experiment];
  if (rule_.decides_at(report.step) && !state.stopped) {
    state.reports.try_emplace(report.step, report);
  }
}

void StopBoard::ended(size_t experiment) { states_[experiment].ended = true; }

void StopBoard::recall(size_t experiment, const Report& report, bool stop) {
  State& state = states_[experiment];
  state.reports.try_emplace(report.step, report);
  state.decided = std::max(state.decided, report.step);
  if (stop) state.stopped = true;
}

bool StopBoard::known_at(const State& state, uint64_t step) const {
  if (state.stopped) return true;
  // It may still be stopped at an earlier step; then a report that it has made since does not
  // count.
  const auto later = state.reports.upper_bound(state.decided);
  if (later != state.reports.end() && later->first < step) return false;
  return state.ended || state.reports.contains(step);
}

bool StopBoard::settled(size_t experiment) const {
  const auto found = states_.find(experiment);
  if (found == states_.end()) return true;
  const State& state = found->second;
  return state.stopped || state.reports.empty() || state.decided >= state.reports.rbegin()->first;
}

std::optional<StopBoard::Made> StopBoard::next() {
  for (const size_t experiment : experiments_) {
    State& state = states_[experiment];
    if (settled(experiment)) continue;
    const auto at = state.reports.upper_bound(state.decided);
    const uint64_t step = at->first;
    std::vector<Report> before;
    bool all_known = true;
    for (const size_t other : experiments_) {
      if (other >= experiment) break;
      const State& earlier = states_[other];
      if (!known_at(earlier, step)) all_known = false;
      const auto found = earlier.reports.find(step);
      if (found != earlier.reports.end()) before.push_back(found->second);
    }
    if (!all_known) continue;
    Made made{.experiment = experiment,
              .report = at->second,
              .decision = decide_stop(rule_, maximize_, at->second, before)};
    state.decided = step;
    if (made.decision.stop) {
      state.stopped = true;
      state.reports.erase(state.reports.upper_bound(step), state.reports.end());
    }
    return made;
  }
  return std::nullopt;
}

}  // namespace plimsoll::experiment
