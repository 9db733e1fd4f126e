#include "answer/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answer/example_results.h"
#include "answer/exploration.h"
#include "answer/selection.h"
#include "base/error.h"

namespace plimsoll::answer {
namespace {

using experiment::Cause;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Comparison, UsesWelchIfNothingSpeaksAgainstNormality) {
  const Configurations all = example();
  const ComparisonAnswer answer =
      compare({select_group(all, "A", "1"), select_group(all, "B", "rate<0.05")},
              {"loss", "energy"}, std::nullopt);
  ASSERT_EQ(answer.rows.size(), 2U);
  const SampleDifference& loss = answer.rows[0].found;
  EXPECT_EQ(loss.test, DifferenceTest::welch);
  EXPECT_LT(*loss.p, 0.001);
  EXPECT_GT(*answer.rows[1].found.adjusted_p, *answer.rows[1].found.p);
  EXPECT_NEAR(loss.difference, -0.095, 1e-9) << "B - A";
  EXPECT_LT(loss.interval->low, -0.095);
  EXPECT_GT(loss.interval->high, -0.095);
  EXPECT_LT(*loss.effect, 0);
  const std::string text = describe(answer, 0);
  EXPECT_THAT(text, HasSubstr("A = #1: rate 0.1"));
  EXPECT_THAT(text, HasSubstr("loss, A and B: B is lower (p"));
  EXPECT_THAT(text, HasSubstr("B - A [95 %]"));
  EXPECT_THAT(text, HasSubstr("adjusted by Holm for 2 tests"));
  EXPECT_EQ(to_json(answer)["comparisons"][0]["effect_name"], "hedges_g");
  EXPECT_THROW(select_group(all, "A", "7"), Error);
}

TEST(Comparison, RefusesGroupsThatOverlap) {
  const Configurations all = example();
  const auto compared = [&](const char* a, const char* b) {
    compare({select_group(all, "A", a), select_group(all, "B", b)}, {"loss"}, std::nullopt);
  };
  EXPECT_NO_THROW(compared("1", "2"));
  for (const auto& [a, b] : {std::pair{"1", "#1"}, {"1", "rate>0.05"}, {"rate>0", "rate<1"}}) {
    try {
      compared(a, b);
      FAIL() << a << " " << b;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("in common: #1"));
      EXPECT_THAT(error.what(), HasSubstr("exclude each other"));
    }
  }
}

TEST(Comparison, UsesRanksIfASampleIsNotNormal) {
  const std::vector<double> skewed = {1, 1.01, 1.02, 1.03, 1.04, 1.05, 30};
  const std::vector<double> other = {2, 2.1, 2.2, 2.3, 2.4, 2.5};
  const SampleDifference found = difference_of(skewed, other, std::nullopt);
  EXPECT_EQ(found.test, DifferenceTest::mann_whitney);
  EXPECT_THAT(found.reason, HasSubstr("Shapiro-Wilk p"));
  EXPECT_EQ(
      to_json({.groups = {}, .rows = {{"loss", "A", "B", found}}})["comparisons"][0]["effect_name"],
      "rank_biserial");
  EXPECT_GT(found.difference, 0) << "most of the second sample is larger";
  EXPECT_GT(*found.effect, 0);
}

TEST(Comparison, SaysHowManyRepeatsAreMissing) {
  const std::vector<double> a = {1, 2, 3};
  const std::vector<double> b = {1.5, 2.5, 3.5};
  const SampleDifference found = difference_of(a, b, std::nullopt);
  EXPECT_EQ(found.repeats_needed, 64U);  // half a standard deviation
  EXPECT_LT(*difference_of(a, b, 2).repeats_needed, 10U);
  const ComparisonAnswer answer{.groups = {},
                                .rows = {{.figure = "loss", .a = "A", .b = "B", .found = found}}};
  EXPECT_THAT(describe(answer, 0),
              HasSubstr("no difference shown (p 0.57); needs 61 more repeats of each to see a "
                        "difference of 0.5"));
}

TEST(Comparison, OfOneRunEachHasNoTest) {
  const std::vector<double> one = {1};
  const SampleDifference found = difference_of(one, one, std::nullopt);
  EXPECT_FALSE(found.p);
  EXPECT_THAT(found.reason, HasSubstr("two repeats"));
  const std::vector<double> same = {2, 2, 2};
  EXPECT_EQ(difference_of(same, same, std::nullopt).reason, "neither sample varies");
}

TEST(Comparison, OverAParameterHasEveryPair) {
  std::vector<Outcome> all;
  for (const double rate : {0.1, 0.2, 0.3}) {
    for (const double seed : {1, 2, 3}) {
      all.push_back(outcome({.rate = rate, .seed = seed, .loss = rate + 0.001 * seed}));
    }
  }
  const Configurations grouped = group(all, catalog(), {});
  const auto groups = groups_over(grouped, "rate");
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[2].name, "rate 0.3");
  EXPECT_EQ(compare(groups, {"loss"}, std::nullopt).rows.size(), 3U);
  EXPECT_THROW(groups_over(grouped, "epochs"), Error) << "it has one value";
  EXPECT_THROW(groups_over(grouped, "rte"), Error);
}

TEST(Comparison, SaysWhyAPairHasNoTest) {
  std::vector<Outcome> all;
  for (const double seed : {1, 2}) {
    all.push_back(failed({.rate = 0.1, .seed = seed}, Cause::failed));
    all.push_back(outcome({.rate = 0.2, .seed = seed, .loss = seed}));
    all.push_back(failed({.rate = 0.3, .seed = seed}, Cause::stopped_early));
    all.push_back(outcome({.rate = 0.4, .seed = seed, .loss = std::nan("")}));
  }
  const Configurations grouped = group(all, catalog(), {});
  const ComparisonAnswer answer = compare(groups_over(grouped, "rate"), {"loss"}, std::nullopt);
  EXPECT_EQ(answer.rows.size(), 6U) << "no pair is dropped";
  const std::string text = describe(answer, 0);
  EXPECT_THAT(text, HasSubstr("loss, A and B: no test, A has no successful run (own error 2)\n"));
  EXPECT_THAT(text,
              HasSubstr("loss, B and C: no test, C has no successful run (stopped early 2)\n"));
  EXPECT_THAT(text, HasSubstr("loss, B and D: no test, D has only nan\n"));
  EXPECT_THAT(text,
              HasSubstr("loss, A and C: no test, A has no successful run (own error 2), C has "
                        "no successful run (stopped early 2)\n"));
  EXPECT_THAT(text, HasSubstr("left out: 2 runs stopped early"));
  EXPECT_THAT(text, Not(HasSubstr("0 (n 0)")));
  const auto json = to_json(answer);
  EXPECT_TRUE(json["comparisons"][0]["difference"].is_null());
  EXPECT_TRUE(json["comparisons"][0]["of_a"]["mean"].is_null());
}

// "momentum" only with the optimizer sgd.
Configurations with_condition() {
  std::vector<Outcome> all;
  for (const double seed : {1, 2, 3}) {
    for (const double momentum : {0.0, 0.5, 0.9}) {
      all.push_back(outcome({.seed = seed, .loss = seed + momentum}));
      auto& values = all.back().result.last.values;
      values.set("opt", experiment::text_value(momentum > 0 ? "sgd" : "adam"));
      if (momentum > 0) values.set("momentum", {.number = momentum});
    }
  }
  return group(all, catalog(), {});
}

TEST(Comparison, OverAConditionalParameterSaysWhatItLeavesOut) {
  const Configurations all = with_condition();
  EXPECT_EQ(groups_over(all, "momentum").size(), 2U);
  EXPECT_THAT(notes_over(all, "momentum"),
              ElementsAre("left out: 1 configuration without momentum"));
  EXPECT_THAT(notes_over(all, "opt"),
              ElementsAre("the groups mix experiments with different momentum; --where keeps them "
                          "fixed"));
}

TEST(Comparison, OverAParameterSaysWhatElseDiffers) {
  std::vector<Outcome> all;
  for (const double rate : {0.1, 0.2}) {
    all.push_back(outcome({.rate = rate}));
    all.back().result.last.values.set("width", {.number = rate > 0.1 ? 8.0 : 4.0});
  }
  EXPECT_THAT(notes_over(group(all, catalog(), {}), "rate"),
              ElementsAre("the groups also differ in width, so the difference may be theirs"));
}

TEST(Comparison, SaysThatASeedIsANuisance) {
  const Configurations all = example();
  EXPECT_THAT(refusal([&] { groups_over(all, "seed"); }),
              HasSubstr("--over seed: seed is a nuisance, not a parameter"));
  EXPECT_THAT(refusal([&] { parse_conditions("seed=3", all); }), HasSubstr("is a nuisance"));
}

TEST(Comparison, SuggestsConditionsThatTheseResultsHave) {
  const auto overlap = [](const Configurations& all, const char* a, const char* b) {
    return refusal([&] {
      compare({select_group(all, "A", a), select_group(all, "B", b)}, {"loss"}, std::nullopt);
    });
  };
  EXPECT_THAT(overlap(example(), "1", "1"), HasSubstr("such as \"rate<0.1\" and \"rate>=0.1\""));
  EXPECT_THAT(overlap(with_condition(), "1", "1"), Not(HasSubstr("learning_rate")));
}

// A hyperparameter may be called as the experiment's own model.
TEST(Comparison, AHyperparameterCalledModelIsTheOneThatIsMeant) {
  std::vector<Outcome> all;
  for (const char* kind : {"gcn", "sage"}) {
    for (const double seed : {1, 2, 3}) {
      all.push_back(outcome({.seed = seed, .loss = (kind[0] == 'g' ? 1 : 2) + 0.01 * seed}));
      all.back().result.last.values.set("model", experiment::text_value(kind));
    }
  }
  experiment::Catalog known = catalog();
  known.repositories[0].hyperparameters.push_back({.name = "model"});
  const Configurations grouped = group(all, known, {});
  ASSERT_EQ(grouped.all.size(), 2U);
  EXPECT_EQ(groups_over(grouped, "model")[1].name, "model sage");
  const auto importance = importance_of(grouped, {"loss"});
  ASSERT_EQ(importance[0].shares.size(), 1U);
  EXPECT_GT(importance[0].shares[0].share->omega_squared, 0.99);
}

TEST(Comparison, OverNumbersIsInAscendingOrder) {
  std::vector<Outcome> all;
  for (const double rate : {0.3, 0.02, 0.1}) all.push_back(outcome({.rate = rate, .loss = rate}));
  const auto groups = groups_over(group(all, catalog(), {}), "rate");
  EXPECT_EQ(groups[0].name, "rate 0.02");
  EXPECT_EQ(groups[0].label, "A");
  EXPECT_EQ(groups[2].name, "rate 0.3");
}

TEST(Comparison, ShowsBothMeansOrNoneAndSaysSo) {
  const Configurations all = example();
  const ComparisonAnswer answer =
      compare({select_group(all, "A", "1"), select_group(all, "B", "2")}, {"loss", "seconds"}, {});
  EXPECT_THAT(describe(answer, 0), HasSubstr("time (s)"));
  for (size_t columns = 30; columns < 120; ++columns) {
    const std::string text = describe(answer, columns);
    const std::string heading = text.substr(text.find("\nfigure"), text.find("loss, A and B"));
    const bool a = heading.substr(0, heading.find('\n', 1)).find("mean A") != std::string::npos;
    const bool b = heading.substr(0, heading.find('\n', 1)).find("mean B") != std::string::npos;
    EXPECT_EQ(a, b) << columns;
    EXPECT_EQ(text.find("left out, the terminal has") == std::string::npos,
              heading.substr(0, heading.find('\n', 1)).find("test") != std::string::npos);
  }
}

TEST(Comparison, OfGroupsThatBothFailedSaysWhy) {
  const Configurations all =
      group({failed({.rate = 0.1}, Cause::failed), failed({.rate = 0.2}, Cause::timed_out)},
            catalog(), {});
  const ComparisonAnswer answer = compare(
      {select_group(all, "A", "1"), select_group(all, "B", "2")}, all.figures(), std::nullopt);
  const std::string text = describe(answer, 0);
  EXPECT_THAT(text, HasSubstr("there is nothing to compare\nA has no successful run (own error 1)\n"
                              "B has no successful run (timed_out 1)\n"));
  EXPECT_THAT(text, Not(HasSubstr("figure")));
  EXPECT_EQ(to_json(answer)["groups"][0]["without_figures"], "no successful run (own error 1)");
  EXPECT_THAT(refusal([&] { aim_of(all, "loss"); }),
              HasSubstr("known: none; no experiment has succeeded (2 experiments: 0 succeeded, 2 "
                        "failed (own error 1, timed_out 1))"));
}

}  // namespace
}  // namespace plimsoll::answer
