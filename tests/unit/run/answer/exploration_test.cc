#include "answer/exploration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answer/example_results.h"
#include "base/error.h"

namespace plimsoll::answer {
namespace {

using experiment::Cause;
using testing::HasSubstr;

TEST(ParetoAnswer, HasTheFrontInTheRightDirections) {
  std::vector<Outcome> all;
  for (const auto& [rate, loss, joules] :
       {std::tuple{0.1, 0.9, 10.0}, std::tuple{0.2, 0.3, 20.0}, std::tuple{0.3, 0.2, 90.0},
        std::tuple{0.4, 0.5, 95.0}}) {
    all.push_back(outcome({.rate = rate, .loss = loss, .joules = joules}));
  }
  const Configurations grouped = group(all, catalog(), {});
  const ParetoAnswer answer =
      pareto_of(grouped, aim_of(grouped, "loss"), aim_of(grouped, "energy"));
  ASSERT_EQ(answer.front.size(), 3U);
  EXPECT_EQ(answer.front[0]->number, 1U);
  EXPECT_EQ(answer.knee->number, 2U);
  EXPECT_EQ(answer.beaten, 1U);
  EXPECT_THAT(describe(answer, grouped, 0), HasSubstr("knee"));
  EXPECT_EQ(to_json(answer)["front"][1]["knee"], true);
}

TEST(ParetoAnswer, FollowsTheObjectiveOfTheBatch) {
  Configurations all = example();
  all.objective = experiment::Objective{.metric = "loss", .maximize = true};
  const ParetoAnswer answer = pareto_of(all, aim_of(all, "loss"), aim_of(all, "energy"));
  EXPECT_TRUE(answer.first.maximize);
  EXPECT_THAT(describe(answer, all, 0),
              HasSubstr("loss: higher is better, as the objective says\n"));
  EXPECT_FALSE(aim_of(all, "loss:min").maximize) << "the user has the last word";
}

TEST(ImportanceAnswer, NamesTheParameterThatExplainsTheSpread) {
  std::vector<Outcome> all;
  for (const double rate : {0.1, 0.2}) {
    for (const char* model : {"good", "other"}) {
      for (const double seed : {1, 2, 3}) {
        all.push_back(
            outcome({.rate = rate, .seed = seed, .loss = rate * 10 + 0.01 * seed, .model = model}));
      }
    }
  }
  const auto answer = importance_of(group(all, catalog(), {}), {"loss"});
  EXPECT_EQ(answer[0].shares[0].parameter, "rate");
  EXPECT_GT(answer[0].shares[0].share->omega_squared, 0.99);
  EXPECT_EQ(answer[0].shares[1].share->omega_squared, 0);
  EXPECT_LT(*answer[0].noise, 0.01);
  EXPECT_THAT(describe(answer, 0), HasSubstr("Hays' omega squared"));
  EXPECT_THROW(importance_of(group({outcome({})}, catalog(), {}), {"loss"}), Error);
}

TEST(ImportanceAnswer, AConditionalParameterIsJudgedByTheRunsThatHaveIt) {
  experiment::Catalog known = catalog();
  known.repositories[0].hyperparameters.push_back({.name = "momentum"});
  std::vector<Outcome> all;
  for (int i = 0; i < 30; ++i) {
    // The rate decides. The momentum has no effect, and only one of the two rates has it.
    const bool has_momentum = i % 2 == 0;
    const double noise = 0.01 * ((i * 7) % 5);
    all.push_back(outcome({.rate = has_momentum ? 0.1 : 0.2,
                           .seed = 1.0 * i,
                           .loss = (has_momentum ? 1 : 9) + noise}));
    if (has_momentum) all.back().result.last.values.set("momentum", {.number = 0.5 + 0.01 * i});
  }
  const auto answer = importance_of(group(all, known, {}), {"loss"});
  ASSERT_EQ(answer[0].shares.size(), 2U);
  EXPECT_EQ(answer[0].shares[0].parameter, "rate");
  EXPECT_GT(answer[0].shares[0].share->omega_squared, 0.99);
  const ParameterShare& momentum = answer[0].shares[1];
  EXPECT_EQ(momentum.runs, 15U);
  EXPECT_EQ(momentum.values, 15U);
  EXPECT_LE(momentum.share->groups, 4U) << "its values are put into ranges";
  EXPECT_GT(*momentum.adjusted_p, 0.05);
  EXPECT_THAT(describe(answer, 0), HasSubstr("momentum: only over 15 runs that have it\n"));
  EXPECT_EQ(to_json(answer)[0]["parameters"][1]["runs"], 15);
}

TEST(ImportanceAnswer, SaysWhichRunsItLeavesOut) {
  const Configurations all =
      group({outcome({.rate = 0.1}), outcome({.rate = 0.2, .loss = 2}), outcome({.rate = 0.3}),
             failed({.rate = 0.4}, Cause::stopped_early),
             failed({.rate = 0.5}, Cause::stopped_early), failed({.rate = 0.6}, Cause::failed)},
            catalog(), {});
  const auto answer = importance_of(all, {"loss"});
  EXPECT_THAT(describe(answer, 0), HasSubstr("left out: 2 runs stopped early, 1 failed run\n"));
  EXPECT_EQ(to_json(answer)[0]["stopped_early"], 2);
}

}  // namespace
}  // namespace plimsoll::answer
