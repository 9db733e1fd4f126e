// Early stopping: decides whether an experiment continues, from the values that it and the
// experiments before it in the queue have reported. Pure.
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
    asha,    // continues if it is among the best 1/reduction at min_steps * reduction^k
    median,  // continues if its best is not worse than the median of the others' means so far
  };
  Policy policy = Policy::asha;
  // The first step at which it may be stopped; 0: a tenth of the first training, see for_length().
  uint64_t min_steps = 0;
  uint64_t reduction = 2;
  bool by_length = false;  // min_steps comes from for_length()

  bool known() const { return min_steps > 0; }
  // Whether a decision is made at this step. Of `median`: at multiples of min_steps. While
  // min_steps is not known: whether one may be made there.
  bool decides_at(uint64_t step) const;
};
std::string_view name(StopRule::Policy policy);
std::optional<StopRule::Policy> policy_named(std::string_view word);

// The rule for trainings that report this many steps: its first decision comes after a tenth of
// them, rounded to 1, 2, 3, 4, 6, 8, 12, 16, 24 ... Decisions come at few
// steps, so the reports of these steps can be kept until the length is known.
StopRule for_length(StopRule rule, uint64_t steps);

// "asha by accuracy, higher is better: at steps 3, 12, 48 ... the best 1/4 so far continue"
std::string describe(const StopRule& rule, const Objective& objective);

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
  StopRule::Policy policy = StopRule::Policy::asha;
  uint64_t step = 0;
  double value = 0;
  std::string reason;
};

// The first training that succeeded, and how many steps it reported.
struct StopLength {
  size_t experiment = 0;
  uint64_t steps = 0;
};

// Collects the reports of all experiments of an entry, and decides about each step as soon as all
// earlier experiments have reported that step or have ended. The reports may come in any order.
//
// No experiment is stopped at a step unless an earlier one has gone beyond it: it may be the last
// step of every training. So the first experiment is never stopped.
//
// Repeats of a setting do not compete with each other: what is decided about a setting at a step,
// by the first of its repeats that reported the step, holds for all of them.
//
// If the rule leaves min_steps open, the first experiment in the queue that succeeds decides it.
// That one and the failed ones before it are never stopped; the others wait for it.
class StopBoard {
 public:
  // `settings`: by experiment, a number that repeats of the same setting share. Without it, each is
  // a setting of its own.
  StopBoard(const StopRule& rule, bool maximize, std::vector<size_t> experiments,
            std::map<size_t, size_t> settings = {})
      : rule_(rule),
        maximize_(maximize),
        experiments_(std::move(experiments)),
        settings_(std::move(settings)) {}

  // Call it for every step; the first report of a step counts.
  void report(size_t experiment, const Report& report);
  // It will report nothing more: it has ended after this many steps.
  void ended(size_t experiment, uint64_t steps, bool success);
  const StopRule& rule() const { return rule_; }
  // The training whose length decides min_steps; nothing while it is not known, or not needed.
  const std::optional<StopLength>& length() const { return length_; }
  // Call it for a resumed batch that found the length before.
  void set_length(const StopLength& length);

  // The next decision that can be made and has not been returned yet.
  struct Made {
    size_t experiment = 0;
    Report report;
    StopDecision decision;
  };
  std::optional<Made> next();

  // Whether all reports of the experiment have been decided about.
  bool settled(size_t experiment) const;
  // For a resumed batch: this decision was made before.
  void recall(size_t experiment, const Report& report, bool stop);

 private:
  struct State {
    std::map<uint64_t, Report> reports;  // by step
    uint64_t decided = 0;                // the last step that was decided about
    bool ended = false;                  // reports nothing more
    bool stopped = false;
    bool exempt = false;  // never stopped: the first that succeeded, and those before it
    bool success = false;
    uint64_t steps = 0;  // reported so far

    bool undecided() const;
    // It has gone on after a decision at this step, or without one.
    bool went_beyond(uint64_t step) const;
    // A report of the step has come, or none that counts will come.
    bool known_at(uint64_t step) const;
  };
  void find_length();
  // Nothing: it cannot be made yet.
  std::optional<StopDecision> decision_about(size_t experiment, const Report& report) const;
  size_t setting_of(size_t experiment) const;
  StopRule rule_;
  bool maximize_;
  std::vector<size_t> experiments_;  // ascending
  std::map<size_t, size_t> settings_;
  std::map<size_t, State> states_;
  std::optional<StopLength> length_;
};

}  // namespace plimsoll::experiment
