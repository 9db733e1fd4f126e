// Stopping early: decides from the reported values of an experiment and of those before it in the
// queue whether it goes on. Pure.
//
// A decision about an experiment uses only experiments with smaller numbers, and only what they had
// reported at the same step. So it does not depend on how many run at once, or on who is faster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::experiment {

// The metric that decides which setting is better.
struct Objective {
  std::string metric;
  bool maximize = true;
};

struct StopRule {
  enum class Policy {
    asha,    // goes on if it is among the best 1/reduction at min_steps * reduction^k
    median,  // goes on if its best is not worse than the median of the others' means so far
  };
  Policy policy = Policy::asha;
  uint64_t min_steps = 1;  // the first step at which it may be stopped
  uint64_t reduction = 3;

  // Whether a decision is made at this step. Of `median`: at multiples of min_steps.
  bool decides_at(uint64_t step) const;
};
std::string_view name(StopRule::Policy policy);

// What an experiment had reported by a step.
struct Report {
  uint64_t step = 0;
  double value = 0;  // at this step
  double best = 0;   // of all steps so far
  double mean = 0;   // of all steps so far
};

// As one line, for the journal. The function that parses it returns nothing for other text.
std::string to_text(const Report& report);
std::optional<Report> report_of(const std::string& text);

// The values of the objective in the order of the log. Keeps only what the decisions need.
class Curve {
 public:
  explicit Curve(bool maximize) : maximize_(maximize) {}
  // The report of the next step.
  Report add(double value);
  uint64_t steps() const { return steps_; }

 private:
  bool maximize_;
  uint64_t steps_ = 0;
  double best_ = 0;
  double sum_ = 0;
};

struct StopDecision {
  bool stop = false;
  std::string reason;  // "asha at step 9: 0.71 is not among the best 2 of 7"
};

// `before`: the reports at the same step of the comparable experiments before it in the queue.
StopDecision decide_stop(const StopRule& rule, bool maximize, const Report& own,
                         const std::vector<Report>& before);

// An experiment that was stopped early.
struct StopRecord {
  std::string policy;
  uint64_t step = 0;
  double value = 0;
  std::string reason;
};

// Collects the reports of all experiments of an entry, and decides about each step as soon as all
// earlier experiments have reported that step or have ended. The reports may come in any order.
class StopBoard {
 public:
  StopBoard(const StopRule& rule, bool maximize, std::vector<size_t> experiments)
      : rule_(rule), maximize_(maximize), experiments_(std::move(experiments)) {}

  // Only reports at steps where rule.decides_at() count; the first of a step counts.
  void report(size_t experiment, const Report& report);
  // It will report nothing more: it has ended.
  void ended(size_t experiment);

  // The next decision that can be made and has not been returned yet.
  struct Made {
    size_t experiment = 0;
    Report report;
    StopDecision decision;
  };
  std::optional<Made> next();

  // Whether all reports of the experiment have been decided about.
  bool settled(size_t experiment) const;
  // Of a resumed batch: this decision was made before.
  void recall(size_t experiment, const Report& report, bool stop);

 private:
  struct State {
    std::map<uint64_t, Report> reports;  // by step
    uint64_t decided = 0;                // the last step that was decided about
    bool ended = false;                  // reports nothing more
    bool stopped = false;
  };
  // Whether it has a report of the step, or will never have one that counts.
  bool known_at(const State& state, uint64_t step) const;

  StopRule rule_;
  bool maximize_;
  std::vector<size_t> experiments_;  // ascending
  std::map<size_t, State> states_;
};

}  // namespace plimsoll::experiment
