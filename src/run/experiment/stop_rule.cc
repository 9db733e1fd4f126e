#include "experiment/stop_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <iterator>

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
          .reason = fmt::format("asha at step {}: {:.6g} is not among the best {} of {}", own.step,
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
          .reason = fmt::format(
              "median at step {}: its best, {:.6g}, is worse than {:.6g}, the median of "
              "the means of {} others",
              own.step, own.best, median, before.size())};
}

// Has at most six binary digits before its zeros: 1 to 64, 66, 68 ... 128, 132 ...
bool is_round(uint64_t step) {
  constexpr int kDigits = 6;
  const int zeros = std::max(0, static_cast<int>(std::bit_width(step)) - kDigits);
  return step > 0 && step >> zeros << zeros == step;
}

// The number of 1, 2, 3, 4, 6, 8, 12, 16, 24 ... that is nearest to a tenth; of two, the larger.
uint64_t rounded_tenth(uint64_t steps) {
  const auto distance = [&](uint64_t number) {
    return std::abs(10 * static_cast<double>(number) - static_cast<double>(steps));
  };
  uint64_t best = 1;
  for (uint64_t power = 2; power <= steps; power *= 2) {
    for (const uint64_t number : {power, power / 2 * 3}) {
      if (distance(number) <= distance(best)) best = number;
    }
  }
  return best;
}

}  // namespace

StopRule for_length(StopRule rule, uint64_t steps) {
  rule.min_steps = rounded_tenth(steps);
  rule.by_length = true;
  return rule;
}

bool StopRule::decides_at(uint64_t step) const {
  if ((by_length || !known()) && !is_round(step)) return false;
  if (!known()) return true;
  if (step < min_steps) return false;
  if (policy == Policy::median) return step % min_steps == 0;
  uint64_t rung = min_steps;
  while (rung < step && rung <= step / reduction) rung *= reduction;
  return rung == step;
}

std::string_view name(StopRule::Policy policy) {
  return policy == StopRule::Policy::asha ? "asha" : "median";
}

std::optional<StopRule::Policy> policy_named(std::string_view word) {
  for (const StopRule::Policy policy : {StopRule::Policy::asha, StopRule::Policy::median}) {
    if (word == name(policy)) return policy;
  }
  return std::nullopt;
}

std::string describe(const StopRule& rule, const Objective& objective) {
  const std::string head = fmt::format("{} by {}, {} is better: ", name(rule.policy),
                                       objective.metric, objective.maximize ? "higher" : "lower");
  const uint64_t least = rule.min_steps;
  const uint64_t factor = rule.reduction;
  if (rule.policy == StopRule::Policy::median) {
    const std::string when =
        rule.known() ? (least == 1 ? "at every step" : fmt::format("every {} steps", least))
                     : "at every tenth of the first training";
    return head + when + ", those whose best is worse than the median of the others are stopped";
  }
  const std::string when =
      rule.known()
          ? fmt::format("at steps {}, {}, {} ...", least, least * factor, least * factor * factor)
          : fmt::format(
                "at a tenth of the first training, and at {} and {} times as "
                "many steps,",
                factor, factor * factor);
  return fmt::format("{}{} the best 1/{} so far continue", head, when, factor);
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

bool StopBoard::State::undecided() const {
  return !stopped && !reports.empty() && decided < reports.rbegin()->first;
}

bool StopBoard::State::went_beyond(uint64_t step) const {
  return decided >= step && (stopped ? decided : steps) > step;
}

bool StopBoard::State::known_at(uint64_t step) const {
  if (stopped) return true;
  // It may still be stopped at an earlier step; then a report that it has made since does not
  // count.
  const auto later = reports.upper_bound(decided);
  if (later != reports.end() && later->first < step) return false;
  return ended || reports.contains(step);
}

void StopBoard::report(size_t experiment, const Report& report) {
  State& state = states_[experiment];
  if (state.stopped) return;
  state.steps = std::max(state.steps, report.step);
  if (rule_.decides_at(report.step)) state.reports.try_emplace(report.step, report);
}

void StopBoard::ended(size_t experiment, uint64_t steps, bool success) {
  State& state = states_[experiment];
  state.ended = true;
  state.success = success;
  state.steps = steps;
  if (!rule_.known()) find_length();
}

void StopBoard::find_length() {
  for (const size_t experiment : experiments_) {
    State& state = states_[experiment];
    if (!state.ended) return;
    state.exempt = true;
    if (state.success && state.steps > 0) {
      return set_length({.experiment = experiment, .steps = state.steps});
    }
  }
}

void StopBoard::set_length(const StopLength& length) {
  length_ = length;
  rule_ = for_length(rule_, length.steps);
  for (const size_t experiment : experiments_) {
    State& state = states_[experiment];
    if (experiment <= length.experiment) state.exempt = true;
    std::erase_if(state.reports, [&](const auto& one) { return !rule_.decides_at(one.first); });
  }
}

void StopBoard::recall(size_t experiment, const Report& report, bool stop) {
  State& state = states_[experiment];
  state.reports.try_emplace(report.step, report);
  state.steps = std::max(state.steps, report.step);
  state.decided = std::max(state.decided, report.step);
  if (stop) state.stopped = true;
}

bool StopBoard::settled(size_t experiment) const {
  const auto found = states_.find(experiment);
  return found == states_.end() || found->second.exempt || !found->second.undecided();
}

size_t StopBoard::setting_of(size_t experiment) const {
  const auto found = settings_.find(experiment);
  return found == settings_.end() ? experiment : found->second;
}

std::optional<StopDecision> StopBoard::decision_about(size_t experiment,
                                                      const Report& report) const {
  if (states_.at(experiment).exempt) return StopDecision();
  std::vector<Report> before;
  std::map<size_t, size_t> first_of;  // the first experiment of each setting with such a report
  bool went_beyond = false;
  bool all_ended = true;
  for (const size_t other : experiments_) {
    if (other >= experiment) break;
    const auto found = states_.find(other);
    if (found == states_.end()) return std::nullopt;
    const State& state = found->second;
    if (!state.known_at(report.step)) return std::nullopt;
    const auto at = state.reports.find(report.step);
    if (at != state.reports.end() && first_of.try_emplace(setting_of(other), other).second) {
      before.push_back(at->second);
    }
    went_beyond = went_beyond || state.went_beyond(report.step);
    all_ended = all_ended && (state.ended || state.stopped);
  }
  if (const auto first = first_of.find(setting_of(experiment)); first != first_of.end()) {
    const State& leader = states_.at(first->second);
    if (leader.decided < report.step) return std::nullopt;
    if (!leader.stopped || leader.decided > report.step) return StopDecision();
    return StopDecision{.stop = true,
                        .reason = fmt::format("{} at step {}: like experiment {}, which has the "
                                              "same setting",
                                              name(rule_.policy), report.step, first->second)};
  }
  if (went_beyond) return decide_stop(rule_, maximize_, report, before);
  return all_ended ? std::optional(StopDecision()) : std::nullopt;
}

std::optional<StopBoard::Made> StopBoard::next() {
  if (!rule_.known()) return std::nullopt;
  for (const size_t experiment : experiments_) {
    State& state = states_[experiment];
    if (!state.undecided()) continue;
    const auto at = state.reports.upper_bound(state.decided);
    const auto decision = decision_about(experiment, at->second);
    if (!decision) continue;
    Made made{.experiment = experiment, .report = at->second, .decision = *decision};
    state.decided = at->first;
    if (decision->stop) {
      state.stopped = true;
      state.reports.erase(std::next(at), state.reports.end());
    }
    return made;
  }
  return std::nullopt;
}

}  // namespace plimsoll::experiment
