#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answer/comparison.h"
#include "answer/condition.h"
#include "answer/configuration.h"
#include "answer/exploration.h"
#include "answer/results_table.h"
#include "base/error.h"
#include "base/terminal.h"
#include "experiment/best.h"

namespace plimsoll::answer {
namespace {

using experiment::Cause;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Run {
  double rate = 0.1;
  double seed = 1;
  double loss = 1;
  double joules = 100;
  std::string model = "good";
};

Outcome outcome(const Run& run) {
  Outcome made;
  made.experiment.training = {.repository = "toy", .model = run.model};
  auto& last = made.result.last;
  last.values.set("rate", {.number = run.rate});
  last.values.set("epochs", {.number = 3, .whole = true});
  last.values.set("seed", {.number = run.seed, .whole = true});
  last.metrics["loss"] = {.number = run.loss};
  last.cause = Cause::success;
  last.seconds = 2;
  energy::EnergyReport report;
  report.cpu.total = {.joules = run.joules, .coverage = 1, .quality = energy::Quality::exclusive};
  report.all_gpus = energy::unavailable("there is no NVIDIA driver");
  last.energy = std::make_shared<energy::EnergyReport>(report);
  made.result.success = true;
  return made;
}

Outcome failed(const Run& run, Cause cause) {
  Outcome made = outcome(run);
  made.result.success = false;
  made.result.last.cause = cause;
  return made;
}

experiment::Catalog catalog() {
  experiment::Catalog all;
  all.repositories.push_back({.name = "toy"});
  all.repositories[0].hyperparameters = {{.name = "rate"}, {.name = "epochs"}, {.name = "seed"}};
  all.repositories[0].hyperparameters[2].nuisance = true;
  all.repositories[0].metrics = {{.name = "loss"}};
  return all;
}

Configurations example() {
  std::vector<Outcome> all;
  for (const double loss : {0.50, 0.52, 0.51, 0.49, 0.53}) {
    all.push_back(outcome({.rate = 0.1, .seed = loss * 100, .loss = loss, .joules = 1000 * loss}));
  }
  for (const double loss : {0.41, 0.42, 0.40, 0.43}) {
    all.push_back(outcome({.rate = 0.01, .seed = loss * 100, .loss = loss, .joules = 900}));
  }
  all.push_back(failed({.rate = 0.01}, Cause::timed_out));
  return group(all, catalog(), {});
}

TEST(Configurations, SeedsAreRepeatsOfOneConfiguration) {
  const Configurations all = example();
  ASSERT_EQ(all.all.size(), 2U);
  EXPECT_EQ(all.all[0].runs, 5U);
  EXPECT_EQ(all.all[1].succeeded, 4U);
  EXPECT_EQ(all.all[1].failures.at("timed_out"), 1U);
  EXPECT_THAT(varying_parameters(all), ElementsAre("rate"));
  EXPECT_THAT(all.figures(), ElementsAre("loss", "seconds", "energy"));
  EXPECT_EQ(short_name(all, all.all[0]), "rate 0.1");
}

TEST(Configurations, AreSortedByWhatIsBetterAndKeepTheirNumbers) {
  Configurations all = example();
  sort_by(all, aim_of(all, ""));
  EXPECT_EQ(all.all[0].number, 2U) << "a loss is better if it is smaller";
  sort_by(all, aim_of(all, "loss:max"));
  EXPECT_EQ(all.all[0].number, 1U);
  EXPECT_THROW(aim_of(all, "los"), Error);
}

TEST(Configurations, AreSortedByTheObjectiveOfTheSettings) {
  Configurations all = example();
  all.objective = experiment::Objective{.metric = "loss", .maximize = true};
  EXPECT_TRUE(aim_of(all, "").maximize);
  EXPECT_EQ(describe(aim_of(all, ""), "--sort "), "higher is better, as the objective says");
  all.objective->metric = "unknown";
  EXPECT_FALSE(aim_of(all, "").maximize);
}

TEST(Configurations, ThatWereStoppedEarlyDidNotFail) {
  const Configurations all =
      group({outcome({}), failed({.seed = 2}, Cause::stopped_early)}, catalog(), {});
  EXPECT_EQ(all.stopped, 1U);
  EXPECT_TRUE(all.failures.empty());
  EXPECT_EQ(describe_counts(all), "2 experiments: 1 succeeded, 1 stopped early");
  EXPECT_THAT(text_of(results_table(all, {.aim = aim_of(all, "")})), HasSubstr("stopped early"));
}

TEST(Configurations, MayDifferInWords) {
  std::vector<Outcome> all;
  for (const char* word : {"relu", "tanh"}) {
    for (const double seed : {1, 2, 3}) {
      all.push_back(outcome({.seed = seed, .loss = word[0] == 'r' ? seed : seed + 50}));
      all.back().result.last.values.set("activation", experiment::text_value(word));
    }
  }
  const Configurations grouped = group(all, catalog(), {});
  ASSERT_EQ(grouped.all.size(), 2U);
  EXPECT_EQ(short_name(grouped, grouped.all[1]), "activation tanh");
  EXPECT_TRUE(meets_all(grouped.all[0], parse_conditions("activation=relu", grouped)));
  EXPECT_GT(importance_of(grouped, {"loss"})[0].shares[0].share->omega_squared, 0.9);
  EXPECT_EQ(groups_over(grouped, "activation").size(), 2U);
}

TEST(Configurations, OfDifferentEnergyPartsAreNotMixed) {
  std::vector<Outcome> all = {outcome({.joules = 10}), outcome({.joules = 20})};
  auto both = std::make_shared<energy::EnergyReport>(*all[1].result.last.energy);
  both->all_gpus = {.joules = 500, .coverage = 1, .quality = energy::Quality::shared};
  all[1].result.last.energy = both;
  const Configurations grouped = group(all, catalog(), {});
  EXPECT_THAT(grouped.all[0].figures.at(kEnergy).numbers, ElementsAre(520));
  EXPECT_EQ(grouped.all[0].shared, 1U);
}

TEST(Configurations, HaveCo2AndCostOnlyIfTheUserSaysWhatAKwhHas) {
  EXPECT_FALSE(example().all[0].figures.contains(kCo2));
  const Configurations all = group({outcome({.joules = 3.6e6})}, catalog(),
                                   {.grams_per_kwh = 400, .price_per_kwh = 0.3, .currency = "EUR"});
  EXPECT_THAT(all.all[0].figures.at(kCo2).numbers, ElementsAre(400));
  EXPECT_THAT(all.all[0].figures.at(kCost).numbers, ElementsAre(0.3));
  EXPECT_EQ(unit_of(all, kCost).heading, "cost (EUR)");
}

TEST(ResultsTable, HasOneLinePerConfigurationBestFirst) {
  Configurations all = example();
  const ResultsView view{.aim = aim_of(all, "")};
  sort_by(all, view.aim);
  const TextTable table = results_table(all, view);
  EXPECT_EQ(text_of(table),
            "#  rate           loss       n  time (s)  energy (J, CPU)  failed\n"
            "2  0.01  0.415 ± 0.013  4 of 5     2 ± 0          900 ± 0  timed_out 1\n"
            "1   0.1  0.510 ± 0.016       5     2 ± 0         510 ± 16\n");
  EXPECT_EQ(describe_counts(all), "10 experiments: 9 succeeded, 1 failed (timed_out 1)");
  EXPECT_THAT(notes_of(all, view, table),
              ElementsAre("the same in all: epochs 3",
                          "best first by loss: lower is better, judged by its name; if not: --sort "
                          "loss:max",
                          "mean ± standard deviation over n runs",
                          "energy: without GPU; GPU: there is no NVIDIA driver"));
}

TEST(ResultsTable, LeavesOutWhatDoesNotFitAndSaysSo) {
  const Configurations all = example();
  const ResultsView view{.aim = aim_of(all, ""), .columns = {}, .most_columns = 45};
  const TextTable table = results_table(all, view);
  for (const std::string& line : {text_of(table).substr(0, text_of(table).find('\n'))}) {
    EXPECT_LE(columns_of(line), 45U);
  }
  EXPECT_THAT(table.left_out, ElementsAre("time (s)", "energy (J, CPU)"));
  EXPECT_THAT(notes_of(all, view, table),
              testing::Contains(HasSubstr("the terminal has 45 columns")));
  const TextTable chosen =
      results_table(all, {.aim = view.aim, .columns = {"epochs", "time"}, .most_columns = 10});
  EXPECT_THAT(text_of(chosen), HasSubstr("#  epochs  time (s)"));
  EXPECT_THROW(results_table(all, {.aim = view.aim, .columns = {"epoch"}}), Error);
}

TEST(ResultsTable, SaysNanAndWhyThereIsNoSpread) {
  const Configurations all = group({outcome({.loss = std::nan("")})}, catalog(), {});
  const ResultsView view{.aim = aim_of(all, "")};
  EXPECT_THAT(text_of(results_table(all, view)), HasSubstr("nan"));
  EXPECT_THAT(notes_of(all, view, {}),
              testing::Contains("no configuration has two successful runs, so no spread is known"));
}

TEST(ResultsTable, ShowsAsManyDigitsOfAParameterAsTellItsValuesApart) {
  std::vector<Outcome> all;
  for (const double rate : {0.039396882312491874, 0.0012825932514929593, 0.003}) {
    all.push_back(outcome({.rate = rate, .loss = rate}));
  }
  Configurations grouped = group(all, catalog(), {});
  const ResultsView view{.aim = aim_of(grouped, ""), .columns = {}, .most_columns = 0};
  const TextTable table = results_table(grouped, view);
  EXPECT_THAT(text_of(table), HasSubstr("0.0394 "));
  EXPECT_THAT(text_of(table), HasSubstr("0.001283 "));
  EXPECT_THAT(notes_of(grouped, view, table),
              testing::Contains("values of hyperparameters are rounded; --csv has all digits"));
  all.push_back(outcome({.rate = 0.039398, .loss = 1}));
  grouped = group(all, catalog(), {});
  EXPECT_THAT(text_of(results_table(grouped, view)), HasSubstr("0.039397 "));
}

TEST(ResultsTable, IsQuotedForLatex) {
  TextTable table;
  table.columns = {{"a_b", {"50 %"}, true}, {"loss", {"0.5 ± 0.1"}}};
  EXPECT_THAT(latex_of(table),
              HasSubstr("a\\_b & loss \\\\\n\\hline\n50 \\% & $0.5 \\pm 0.1$ \\\\"));
}

TEST(Conditions, CompareNumbersAsNumbersAndWordsAsWords) {
  Configurations all = example();
  const auto kept = [&](const char* text) {
    std::vector<size_t> numbers;
    const auto conditions = parse_conditions(text, all);
    for (const Configuration& one : all.all) {
      if (meets_all(one, conditions)) numbers.push_back(one.number);
    }
    return numbers;
  };
  EXPECT_THAT(kept("rate=0.10"), ElementsAre(1));
  EXPECT_THAT(kept("rate<=0.01,model=good"), ElementsAre(2));
  EXPECT_THAT(kept("loss>0.45"), ElementsAre(1));
  EXPECT_THAT(kept("n!=5"), ElementsAre(2));
  EXPECT_THAT(kept("model=bad"), ElementsAre());
  EXPECT_THROW(parse_conditions("rat=1", all), Error);
  EXPECT_THROW(parse_conditions("rate", all), Error);
  EXPECT_THROW(parse_conditions("rate=", all), Error);
  EXPECT_THROW(parse_conditions("=3", all), Error);
  keep_only(all, [&](const Configuration& one) { return one.number == 2; });
  EXPECT_EQ(all.runs, 5U);
  EXPECT_EQ(all.all[0].number, 2U);
}

TEST(Comparison, UsesWelchIfNothingSpeaksAgainstNormality) {
  const Configurations all = example();
  const ComparisonAnswer answer =
      compare({select_group(all, "A", "1"), select_group(all, "B", "rate<0.05")},
              {"loss", "energy"}, std::nullopt);
  ASSERT_EQ(answer.rows.size(), 2U);
  const SampleDifference& loss = answer.rows[0].found;
  EXPECT_EQ(loss.test, "Welch's t");
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
  EXPECT_EQ(found.test, "Mann-Whitney U");
  EXPECT_THAT(found.reason, HasSubstr("Shapiro-Wilk p"));
  EXPECT_EQ(found.effect_name, "r");
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

// The message that an Error{usage} has.
template <typename Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "accepted";
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

TEST(Configurations, CountRepeatsWithTheSameSeed) {
  const auto grouped = [](std::vector<double> seeds) {
    std::vector<Outcome> all;
    for (const double seed : seeds) all.push_back(outcome({.seed = seed, .loss = seed}));
    all.push_back(outcome({.rate = 0.2, .seed = 1}));
    return group(all, catalog(), {});
  };
  EXPECT_EQ(grouped({1, 2, 3}).all[0].same_seed, 0U);
  const Configurations all = grouped({1, 1, 2, 1});
  EXPECT_EQ(all.all[0].same_seed, 2U);
  const ResultsView view{.aim = aim_of(all, "")};
  EXPECT_THAT(notes_of(all, view, {}),
              testing::Contains(HasSubstr("2 repeats have the same seed as another repeat")));
  const auto answer = compare(groups_over(all, "rate"), {"loss"}, std::nullopt);
  EXPECT_THAT(describe(answer, 0), HasSubstr("2 repeats have the same seed"));
}

TEST(Configurations, SayWhyThereIsNoEnergy) {
  Outcome one = outcome({});
  auto report = std::make_shared<energy::EnergyReport>(*one.result.last.energy);
  report->cpu.total = energy::unavailable("no counters");
  one.result.last.energy = report;
  const Configurations all = group({one}, catalog(), {});
  EXPECT_THAT(refusal([&] { aim_of(all, "energy"); }),
              testing::AllOf(HasSubstr("CPU: no counters"), HasSubstr("plimsoll doctor")));
  EXPECT_THAT(refusal([&] { aim_of(example(), "co2"); }), HasSubstr("--grams-per-kwh"));
  EXPECT_THAT(refusal([&] { aim_of(example(), "cost"); }), HasSubstr("--price"));
}

TEST(ResultsTable, CallsTheTimeAsItsHeading) {
  const Configurations all = example();
  const ResultsView view{.aim = aim_of(all, "time")};
  EXPECT_THAT(notes_of(all, view, {}),
              testing::Contains("best first by time (s): lower is better, judged by its name; if "
                                "not: --sort time:max"));
  EXPECT_THAT(describe(pareto_of(all, aim_of(all, "loss"), view.aim), all, 0),
              HasSubstr("\ntime (s): lower is better, judged by its name; if not: time:max\n"));
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

TEST(Means, HaveMeanDeviationAndCountForScripts) {
  const Configurations all = example();
  const std::string csv = means_csv(all);
  EXPECT_THAT(csv, HasSubstr("perf_loss_mean,perf_loss_sd,perf_loss_n"));
  EXPECT_THAT(csv, HasSubstr("energy_joules_mean"));
  const auto json = means_json(all);
  EXPECT_EQ(json[1]["failures"]["timed_out"], 1);
  EXPECT_NEAR(json[0]["figures"]["perf_loss"]["mean"].get<double>(), 0.51, 1e-12);
  EXPECT_EQ(json[0]["hyperparameters"].contains("seed"), false);
}

TEST(BestSoFar, IsTheBestMeanOfAConfiguration) {
  const experiment::Catalog known = catalog();
  const experiment::Settings settings;
  experiment::BestSoFar best(known, settings);
  EXPECT_EQ(best.describe(), "");
  for (const Outcome& one : {outcome({.rate = 0.1, .seed = 1, .loss = 0.2}),
                             outcome({.rate = 0.1, .seed = 2, .loss = 0.9}),
                             outcome({.rate = 0.2, .seed = 1, .loss = 0.3})}) {
    best.add(one.experiment, one.result);
  }
  EXPECT_EQ(best.describe(), "loss 0.3 (n 1), toy/good: rate 0.2, epochs 3");
}

TEST(BestSoFar, KnowsWhatIsBetterByTheWordsOfAName) {
  for (const char* name : {"loss", "eval_loss", "valLoss", "test-error", "perplexity", "time_ms"}) {
    EXPECT_TRUE(experiment::smaller_is_better(name)) << name;
  }
  for (const char* name : {"accuracy", "f1", "mAP", "glossary_score", "errand"}) {
    EXPECT_FALSE(experiment::smaller_is_better(name)) << name;
  }
}

}  // namespace
}  // namespace plimsoll::answer
