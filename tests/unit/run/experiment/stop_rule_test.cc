#include "experiment/stop_rule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <set>

#include "base/random.h"
#include "experiment/training_log.h"
#include "temp_folder.h"

namespace plimsoll::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Curves = std::vector<std::vector<double>>;

// Curves as trainings have them: they rise to a level of their own, with noise.
// Of at least `steps` each, and of up to `more` more.
Curves recorded_curves(size_t count, size_t steps, uint64_t seed, size_t more = 0) {
  const RandomStream random(seed, 7);
  Curves curves(count);
  uint64_t next = 0;
  for (auto& curve : curves) {
    const double level = 0.5 + 0.4 * unit_interval(random.at(next++));
    const double speed = 0.05 + 0.5 * unit_interval(random.at(next++));
    const size_t length = steps + (more == 0 ? 0 : below(random.at(next++), more + 1));
    for (size_t i = 1; i <= length; ++i) {
      const double noise = 0.02 * (unit_interval(random.at(next++)) - 0.5);
      curve.push_back(level * (1 - std::exp(-speed * static_cast<double>(i))) + noise);
    }
  }
  return curves;
}

// The plain reference: one experiment after the other, each seen whole. Returns the number of steps
// after which each is stopped; all of them if it is not. `beyond` of a list of those numbers:
// whether one of them is larger than the step.
bool beyond(const std::vector<size_t>& stopped, size_t step) {
  return std::any_of(stopped.begin(), stopped.end(), [&](size_t end) { return end > step; });
}

std::vector<size_t> reference_asha(const Curves& curves, size_t min_steps, size_t reduction,
                                   bool maximize) {
  std::vector<size_t> stopped;
  std::map<size_t, std::vector<double>> rungs;
  for (const auto& curve : curves) {
    size_t end = curve.size();
    for (size_t rung = min_steps; rung <= curve.size(); rung *= reduction) {
      const double value = curve[rung - 1];
      auto& others = rungs[rung];
      others.push_back(value);
      std::vector<double> sorted = others;
      std::sort(sorted.begin(), sorted.end());
      if (maximize) std::reverse(sorted.begin(), sorted.end());
      const size_t kept = std::max<size_t>(1, sorted.size() / reduction);
      const double last_kept = sorted[kept - 1];
      if (!beyond(stopped, rung)) continue;
      if (maximize ? value < last_kept : value > last_kept) {
        end = rung;
        break;
      }
    }
    stopped.push_back(end);
  }
  return stopped;
}

std::vector<size_t> reference_median(const Curves& curves, size_t min_steps, bool maximize) {
  std::vector<size_t> stopped;
  std::vector<std::vector<double>> seen;
  for (const auto& curve : curves) {
    size_t end = curve.size();
    for (size_t step = min_steps; step <= curve.size(); step += min_steps) {
      std::vector<double> means;
      for (const auto& other : seen) {
        if (other.size() < step) continue;
        double sum = 0;
        for (size_t i = 0; i < step; ++i) sum += other[i];
        means.push_back(sum / static_cast<double>(step));
      }
      if (means.empty() || !beyond(stopped, step)) continue;
      std::sort(means.begin(), means.end());
      const size_t middle = means.size() / 2;
      const double median =
          means.size() % 2 == 1 ? means[middle] : (means[middle - 1] + means[middle]) / 2;
      const auto from = curve.begin();
      const auto to = from + static_cast<std::ptrdiff_t>(step);
      const double best = maximize ? *std::max_element(from, to) : *std::min_element(from, to);
      if (maximize ? best < median : best > median) {
        end = step;
        break;
      }
    }
    stopped.push_back(end);
    seen.emplace_back(curve.begin(), curve.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return stopped;
}

// Lets `jobs` experiments run at once, at speeds of their own, through a board. A training goes on
// while nothing is decided about it, and one that was overtaken by its end is judged all the same.
class Race {
 public:
  Race(const StopRule& rule, bool maximize, const Curves& curves, size_t jobs, uint64_t seed,
       std::map<size_t, size_t> settings = {})
      : curves_(curves),
        jobs_(jobs),
        random_(seed, 11),
        board_(rule, maximize, numbers(curves), std::move(settings)) {
    for (size_t i = 0; i < curves.size(); ++i) {
      runners_.push_back({.curve = Curve(maximize)});
      stopped_.push_back(curves[i].size());
    }
  }

  // These experiments end without success.
  Race& failing(std::set<size_t> experiments) {
    failing_ = std::move(experiments);
    return *this;
  }

  std::vector<size_t> run() {
    while (begun_ < curves_.size() || !running_.empty()) {
      while (running_.size() < jobs_ && begun_ < curves_.size()) running_.insert(begun_++);
      auto at = running_.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(below(random_.at(next_++), running_.size())));
      const size_t one = *at;
      Runner& runner = runners_[one];
      if (runner.at < curves_[one].size() && !runner.stopped) {
        board_.report(one + 1, runner.curve.add(curves_[one][runner.at++]));
      } else {
        board_.ended(one + 1, runner.at, !failing_.contains(one + 1));
        running_.erase(at);
      }
      take_decisions();
    }
    take_decisions();
    for (size_t i = 0; i < curves_.size(); ++i) EXPECT_TRUE(board_.settled(i + 1)) << i;
    return stopped_;
  }

 private:
  struct Runner {
    Curve curve;
    size_t at = 0;
    bool stopped = false;
  };
  static std::vector<size_t> numbers(const Curves& curves) {
    std::vector<size_t> all;
    for (size_t i = 1; i <= curves.size(); ++i) all.push_back(i);
    return all;
  }
  void take_decisions() {
    while (const auto made = board_.next()) {
      if (!made->decision.stop) continue;
      EXPECT_FALSE(made->decision.reason.empty());
      stopped_[made->experiment - 1] = made->report.step;
      runners_[made->experiment - 1].stopped = true;
    }
  }

  const Curves& curves_;
  size_t jobs_;
  RandomStream random_;
  uint64_t next_ = 0;
  size_t begun_ = 0;
  std::set<size_t> running_;
  std::vector<Runner> runners_;
  std::vector<size_t> stopped_;
  StopBoard board_;
  std::set<size_t> failing_;
};

TEST(StopRule, DecidesAtItsStepsOnly) {
  const auto steps = [](const StopRule& rule) {
    std::vector<uint64_t> all;
    for (uint64_t step = 0; step <= 40; ++step) {
      if (rule.decides_at(step)) all.push_back(step);
    }
    return all;
  };
  EXPECT_THAT(steps({.min_steps = 1, .reduction = 3}), ElementsAre(1, 3, 9, 27));
  EXPECT_THAT(steps({.min_steps = 2, .reduction = 4}), ElementsAre(2, 8, 32));
  EXPECT_THAT(steps({.policy = StopRule::Policy::median, .min_steps = 10}),
              ElementsAre(10, 20, 30, 40));
  EXPECT_FALSE((StopRule{.min_steps = 1, .reduction = 2}.decides_at(UINT64_MAX)));
}

TEST(StopBoard, EqualsThePlainReferenceOnRecordedCurvesHoweverManyRunAtOnce) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Curves curves = recorded_curves(40, 30, seed, seed % 2 * 20);
    for (const bool maximize : {true, false}) {
      const StopRule asha{.min_steps = 1 + seed % 3, .reduction = 2 + seed % 3};
      const StopRule median{.policy = StopRule::Policy::median, .min_steps = 1 + seed % 4};
      const auto by_asha = reference_asha(curves, asha.min_steps, asha.reduction, maximize);
      const auto by_median = reference_median(curves, median.min_steps, maximize);
      for (const size_t jobs : {1, 2, 4, 40}) {
        EXPECT_EQ(Race(asha, maximize, curves, jobs, seed).run(), by_asha) << seed << " " << jobs;
        EXPECT_EQ(Race(median, maximize, curves, jobs, seed).run(), by_median)
            << seed << " " << jobs;
      }
    }
  }
}

// The first repeat of a setting competes, and the others share its fate.
TEST(StopBoard, RepeatsOfASettingDoNotCompeteWithEachOther) {
  constexpr size_t kSettings = 12;
  constexpr size_t kRepeats = 3;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Curves curves = recorded_curves(kSettings * kRepeats, 30, seed);
    for (const bool blocked : {false, true}) {
      std::map<size_t, size_t> settings;
      std::map<size_t, size_t> leaders;  // of each setting, from 0
      Curves of_leaders;
      for (size_t i = 0; i < curves.size(); ++i) {
        const size_t setting = blocked ? i % kSettings : i / kRepeats;
        settings[i + 1] = setting;
        if (leaders.try_emplace(setting, i).second) of_leaders.push_back(curves[i]);
      }
      const StopRule asha{.min_steps = 3, .reduction = 2};
      const auto expected = reference_asha(of_leaders, 3, 2, true);
      for (const size_t jobs : {1, 2, 7, 36}) {
        const auto stopped = Race(asha, true, curves, jobs, seed, settings).run();
        for (size_t i = 0; i < curves.size(); ++i) {
          EXPECT_EQ(stopped[i], expected[settings[i + 1]]) << seed << " " << jobs << " " << i;
        }
      }
    }
  }
}

// Then the next repeat competes in its place.
TEST(StopBoard, ARepeatCompetesIfTheFirstOneFailedBeforeTheStep) {
  const StopRule asha{.min_steps = 3, .reduction = 2};
  Curves curves = {
      Curves::value_type(9, 0.9), {0.1}, Curves::value_type(9, 0.1), Curves::value_type(9, 0.8)};
  for (const size_t jobs : {1, 4}) {
    EXPECT_THAT(Race(asha, true, curves, jobs, 1, {{2, 2}, {3, 2}, {4, 2}}).failing({2}).run(),
                ElementsAre(9, 1, 3, 3));
  }
}

TEST(StopRule, BeginsWithATenthOfTheLengthRounded) {
  const auto first = [](uint64_t length) { return for_length({}, length).min_steps; };
  EXPECT_EQ(first(1), 1);
  EXPECT_EQ(first(10), 1);
  EXPECT_EQ(first(11), 1);
  EXPECT_EQ(first(15), 2);
  EXPECT_EQ(first(27), 3);
  EXPECT_EQ(first(50), 6);
  EXPECT_EQ(first(100), 12);
  EXPECT_EQ(first(120), 12);
  EXPECT_EQ(first(200), 24);
  EXPECT_EQ(first(1'000'000), 98304);
}

// Until the length is known, the reports at all steps that may be decisive must be kept.
TEST(StopRule, DecidesOnlyAtStepsThatWereFewBeforeItsLengthWasKnown) {
  for (const auto policy : {StopRule::Policy::asha, StopRule::Policy::median}) {
    for (uint64_t reduction = 2; reduction < 12; ++reduction) {
      const StopRule open{.policy = policy, .reduction = reduction};
      uint64_t kept = 0;
      for (uint64_t step = 1; step <= 100'000; ++step) kept += open.decides_at(step) ? 1 : 0;
      EXPECT_LT(kept, 600);
      for (uint64_t length = 1; length < 3000; length += 1 + length / 7) {
        const StopRule rule = for_length(open, length);
        EXPECT_TRUE(rule.decides_at(rule.min_steps)) << length;
        for (uint64_t step = 1; step <= 2 * length; ++step) {
          const bool decides = rule.decides_at(step);
          EXPECT_TRUE(!decides || open.decides_at(step)) << length << " " << step;
          // Nothing of the rule is lost within the length.
          const StopRule stated{
              .policy = policy, .min_steps = rule.min_steps, .reduction = reduction};
          EXPECT_TRUE(step > length || decides == stated.decides_at(step)) << length << " " << step;
        }
      }
    }
  }
}

TEST(StopBoard, WithoutMinStepsTheFirstSuccessDecidesThemHoweverManyRunAtOnce) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Curves curves = recorded_curves(40, 27, seed);
    const StopRule open{.reduction = 2 + seed % 3};
    const auto expected = reference_asha(curves, 3, open.reduction, true);
    for (const size_t jobs : {1, 2, 4, 40}) {
      EXPECT_EQ(Race(open, true, curves, jobs, seed).run(), expected) << seed << " " << jobs;
    }
    // The first two fail: they are not stopped, and the third decides. Their reports count.
    Curves short_ones = curves;
    short_ones[0].resize(5);
    short_ones[1].resize(7);
    const auto alone = Race(open, true, short_ones, 1, seed).failing({1, 2}).run();
    EXPECT_EQ(alone[0], 5);
    EXPECT_EQ(alone[1], 7);
    EXPECT_EQ(alone[2], 27);
    for (const size_t jobs : {2, 4, 40}) {
      EXPECT_EQ(Race(open, true, short_ones, jobs, seed).failing({1, 2}).run(), alone) << jobs;
    }
  }
}

TEST(StopBoard, WithoutAnySuccessNothingIsStoppedAndNobodyWaits) {
  StopBoard board({}, true, {1, 2});
  board.report(1, {.step = 1, .value = 0.1});
  EXPECT_FALSE(board.settled(1));
  board.ended(1, 1, /*success=*/false);
  EXPECT_TRUE(board.settled(1)) << "those before the first success are never stopped";
  board.report(2, {.step = 1, .value = 0.2});
  board.ended(2, 1, /*success=*/false);
  EXPECT_TRUE(board.settled(2));
  EXPECT_FALSE(board.next());
}

TEST(StopBoard, NobodyIsStoppedAtTheLastStep) {
  const Curves curves = {{0.5, 0.5, 0.9}, {0.4, 0.6, 0.1}, {0.6, 0.7, 0.2}, {0.1, 0.1, 0.1}};
  for (const size_t jobs : {1, 4}) {
    EXPECT_EQ(Race({.min_steps = 3, .reduction = 3}, true, curves, jobs, 1).run(),
              (std::vector<size_t>{3, 3, 3, 3}));
    EXPECT_EQ(Race({.min_steps = 1, .reduction = 3}, true, curves, jobs, 1).run(),
              (std::vector<size_t>{3, 1, 3, 1}));
  }
}

TEST(StopBoard, ResumesWithTheLengthThatWasFound) {
  StopBoard board({}, true, {1, 2, 3});
  board.set_length({.experiment = 1, .steps = 27});
  board.report(1, {.step = 3, .value = 0.5});
  board.report(2, {.step = 3, .value = 0.4});
  board.report(3, {.step = 2, .value = 0.9});
  board.ended(1, 27, true);
  std::map<size_t, bool> stopped;
  while (const auto made = board.next()) stopped[made->experiment] = made->decision.stop;
  EXPECT_FALSE(stopped.at(1));
  EXPECT_TRUE(stopped.at(2));
  EXPECT_FALSE(stopped.contains(3)) << "step 2 decides nothing";
}

TEST(StopBoard, NeedsAboutAThirdOfTheStepsByDefault) {
  size_t steps = 0;
  size_t all = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Curves curves = recorded_curves(64, 27, seed);
    const auto stopped = Race({}, true, curves, 1, seed).run();
    for (size_t i = 0; i < curves.size(); ++i) {
      steps += stopped[i];
      all += curves[i].size();
    }
  }
  EXPECT_LT(steps, all * 35 / 100);
}

TEST(StopBoard, ResumesWithTheDecisionsThatWereMade) {
  const StopRule rule{.min_steps = 1, .reduction = 2};
  StopBoard board(rule, true, {1, 2, 3});
  board.recall(1, {.step = 1, .value = 0.9}, false);
  board.recall(2, {.step = 1, .value = 0.1}, true);
  board.ended(1, 2, true);
  board.ended(2, 1, false);
  board.report(3, {.step = 1, .value = 0.5});
  const auto made = board.next();
  ASSERT_TRUE(made);
  EXPECT_EQ(made->experiment, 3);
  EXPECT_TRUE(made->decision.stop);
  EXPECT_THAT(made->decision.reason, HasSubstr("asha at step 1: 0.5 is not among the best 1 of 3"));
  EXPECT_FALSE(board.next());
}

TEST(StopBoard, ReportsThatAStoppedExperimentMadeMeanwhileDoNotCount) {
  StopBoard board({.min_steps = 1, .reduction = 2}, true, {1, 2, 3});
  board.report(2, {.step = 1, .value = 0.1});
  board.report(2, {.step = 2, .value = 0.99});  // it ran on while 1 had not reported
  board.report(3, {.step = 1, .value = 0.9});
  board.report(3, {.step = 2, .value = 0.9});
  EXPECT_FALSE(board.next()) << "experiment 1 has not reported";
  board.report(1, {.step = 1, .value = 0.5});
  std::map<size_t, bool> stopped;
  while (const auto made = board.next()) stopped[made->experiment] |= made->decision.stop;
  EXPECT_FALSE(board.settled(2)) << "experiment 1 has not gone on yet";
  board.report(1, {.step = 2, .value = 0.5});
  while (const auto made = board.next()) stopped[made->experiment] |= made->decision.stop;
  EXPECT_TRUE(stopped[2]);
  EXPECT_FALSE(board.settled(3)) << "at step 2, experiment 1 has not gone on yet";
  board.report(1, {.step = 3, .value = 0.5});
  while (const auto made = board.next()) stopped[made->experiment] |= made->decision.stop;
  EXPECT_FALSE(stopped[3]);
  EXPECT_TRUE(board.settled(3));
}

TEST(StopRule, NanIsWorseThanEverything) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const StopRule rule{.min_steps = 1, .reduction = 2};
  EXPECT_TRUE(decide_stop(rule, true, {.step = 1, .value = nan}, {{.step = 1, .value = 0}}).stop);
  EXPECT_TRUE(decide_stop(rule, true, {.step = 1, .value = nan}, {}).stop);
  EXPECT_FALSE(decide_stop(rule, false, {.step = 1, .value = 9}, {{.step = 1, .value = nan}}).stop);
}

TEST(StopRule, SaysWhatItDoes) {
  const Objective objective{.metric = "acc", .maximize = true};
  EXPECT_EQ(describe(StopRule{.min_steps = 3, .reduction = 4}, objective),
            "asha by acc, higher is better: at steps 3, 12, 48 ... the best 1/4 so far continue");
  EXPECT_THAT(describe(StopRule(), objective), HasSubstr("at a tenth of the first training"));
  EXPECT_THAT(describe({.policy = StopRule::Policy::median, .min_steps = 5}, objective),
              HasSubstr("every 5 steps"));
}

TEST(Report, KeepsItsNumbersThroughTheJournal) {
  const Report report{.step = 27, .value = 0.1 + 0.2, .best = 1e-300, .mean = -1};
  const auto read = report_of(to_text(report));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->step, 27);
  EXPECT_EQ(read->value, report.value);
  EXPECT_EQ(read->best, report.best);
  EXPECT_EQ(read->mean, report.mean);
  EXPECT_TRUE(std::isnan(report_of("3 nan nan nan")->value));
  for (const char* text : {"", "x", "0 1 2 3", "1 2 3", "1 a b c"})
    EXPECT_FALSE(report_of(text)) << text;
}

TEST(LogFollower, ReportsEachLineWithTheMetricAsTheLogGrows) {
  const TempFolder folder;
  const auto log = folder.path() / "training.log";
  const std::vector<MetricPattern> patterns = {{.name = "acc", .pattern = "acc: ([0-9.]+)"},
                                               {.name = "loss", .pattern = "loss: ([0-9.]+)"}};
  const Objective objective{.metric = "acc", .maximize = true};
  LogFollower follower(log, patterns, objective);
  EXPECT_TRUE(follower.read().empty());
  std::ofstream out(log);
  out << "loss: 3 acc: 0.5\nnothing\nacc: 0.4\nloss: 2\nacc: 0." << std::flush;
  const auto first = follower.read();
  ASSERT_EQ(first.size(), 2);
  EXPECT_EQ(first[1].step, 2);
  EXPECT_EQ(first[1].value, 0.4);
  EXPECT_EQ(first[1].best, 0.5);
  EXPECT_DOUBLE_EQ(first[1].mean, 0.45);
  out << "9" << std::flush;
  EXPECT_TRUE(follower.read().empty()) << "the line has not ended";
  const auto last = follower.finish();
  ASSERT_EQ(last.size(), 1);
  EXPECT_EQ(last[0].value, 0.9);
  EXPECT_EQ(follower.steps(), 3);
  EXPECT_EQ(metrics_at(log, patterns, objective, 1).at("loss").number, 3);
  EXPECT_EQ(metrics_at(log, patterns, objective, 3).at("loss").number, 2);
}

}  // namespace
}  // namespace plimsoll::experiment
