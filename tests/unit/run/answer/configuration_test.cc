#include "answer/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answer/comparison.h"
#include "answer/example_results.h"
#include "answer/exploration.h"
#include "answer/results_table.h"
#include "answer/selection.h"
#include "base/error.h"
#include "base/terminal.h"
#include "experiment/best.h"

namespace plimsoll::answer {
namespace {

using experiment::Cause;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

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

TEST(Configurations, AMetricThatIsCalledLikeAFigureOfOurOwnIsNotMixedWithIt) {
  std::vector<Outcome> all;
  for (const double seed : {1, 2}) {
    all.push_back(outcome({.seed = seed, .joules = 100}));
    all.back().result.last.metrics = {{"seconds", {.number = 900}},  {"energy", {.number = 777}},
                                      {"co2", {.number = 55}},       {"cost", {.number = 66}},
                                      {"perf_cost", {.number = 67}}, {"perf_x", {.number = 1}},
                                      {"time", {.number = 88}}};
  }
  const Configurations grouped =
      group(all, catalog(), {.grams_per_kwh = 400, .price_per_kwh = 0.3, .currency = ""});
  const Configuration& one = grouped.all.at(0);
  EXPECT_THAT(one.figures.at("seconds").numbers, ElementsAre(2, 2));
  EXPECT_THAT(one.figures.at("energy").numbers, ElementsAre(100, 100));
  EXPECT_THAT(one.figures.at("perf_energy").numbers, ElementsAre(777, 777));
  EXPECT_THAT(one.figures.at("perf_seconds").numbers, ElementsAre(900, 900));
  EXPECT_THAT(one.figures.at("perf_time").numbers, ElementsAre(88, 88));
  EXPECT_THAT(one.figures.at("perf_cost").numbers, ElementsAre(66, 66));
  EXPECT_EQ(one.figures.at("cost").numbers.size(), 2);
  EXPECT_EQ(*mean_of(one, aim_of(grouped, "time").figure), 2);
  const std::string csv = means_csv(grouped);
  for (const char* column : {",perf_energy_mean,", ",energy_joules_mean,", ",perf_seconds_mean,",
                             ",seconds_mean,", ",perf_perf_cost_mean,", ",perf_perf_x_mean,"}) {
    EXPECT_THAT(csv, HasSubstr(column));
  }
}

TEST(Configurations, AMetricCalledEnergyIsNoEnergy) {
  Outcome without = outcome({});
  without.result.last.energy.reset();
  without.result.last.metrics["energy"] = {.number = 777};
  const Configurations grouped = group({without}, catalog(), {});
  const auto table = text_of(results_table(grouped, {.aim = aim_of(grouped, "")}));
  EXPECT_THAT(table, HasSubstr("perf_energy"));
  EXPECT_THAT(table, Not(HasSubstr("energy (J")));
  EXPECT_EQ(means_json(grouped)[0]["energy_quality"], "unavailable");
  EXPECT_EQ(means_json(grouped)[0]["figures"]["perf_energy"]["mean"], 777);
}

TEST(Configurations, ThatWereStoppedEarlyShowTheStepAndTheValueThere) {
  std::vector<Outcome> all = {outcome({.rate = 0.1})};
  for (const double seed : {1, 2}) {
    all.push_back(failed({.rate = 0.2, .seed = seed}, Cause::stopped_early));
    all.back().result.last.stop =
        experiment::StopRecord{.policy = experiment::StopRule::Policy::asha,
                               .step = 9,
                               .value = 0.40 + 0.02 * seed,
                               .reason = ""};
  }
  Configurations grouped = group(all, catalog(), {});
  grouped.objective = experiment::Objective{.metric = "loss", .maximize = false};
  const Aim aim = aim_of(grouped, "");
  const auto table = results_table(grouped, {.aim = aim});
  EXPECT_THAT(text_of(table), HasSubstr("2 at step 9: 0.430 ± 0.014"));
  EXPECT_THAT(
      notes_of(grouped, {.aim = aim}, table),
      testing::Contains("stopped early: how many, at which step, and the loss they had there"));
  EXPECT_THAT(means_csv(grouped), HasSubstr(",succeeded,stopped_early,failures,"));
  EXPECT_EQ(means_json(grouped)[1]["last_step_of_stopped"], 9);
}

TEST(Configurations, ACoverageThatRoundsToAllIsNotShown) {
  for (const auto& [coverage, shown] :
       {std::pair{1.0, false}, {0.9999, false}, {0.9994, false}, {0.99, true}, {0.5, true}}) {
    Outcome made = outcome({});
    energy::EnergyReport report = *made.result.last.energy;
    report.cpu.total.coverage = coverage;
    made.result.last.energy = std::make_shared<energy::EnergyReport>(report);
    const Configurations grouped = group({made}, catalog(), {});
    const std::string text = text_of(results_table(grouped, {.aim = aim_of(grouped, "")}));
    EXPECT_EQ(text.find("covers") != std::string::npos, shown) << coverage;
    EXPECT_THAT(text, Not(HasSubstr("covers 100 %")));
  }
}

TEST(Price, HasANumberWithAPointAndPerhapsACurrency) {
  for (const auto& [text, price, currency] : {std::tuple{"0.30", 0.30, ""},
                                              {"0.30 EUR", 0.30, "EUR"},
                                              {"1EUR", 1.0, "EUR"},
                                              {"0", 0.0, ""},
                                              {".5 €", 0.5, "€"},
                                              {"2 US-Dollar", 2.0, "US-Dollar"}}) {
    EnergyPrices prices;
    set_price(prices, text);
    EXPECT_EQ(*prices.price_per_kwh, price) << text;
    EXPECT_EQ(prices.currency, currency) << text;
  }
  for (const char* text : {"0,30", "0,30 EUR", "0.30.5", "1 000", "inf", "nan", "-1", "1e3", "0x1F",
                           "EUR 0.30", "0.30 ,5", "1'000", ".", " "}) {
    EnergyPrices prices;
    EXPECT_THAT(refusal([&] { set_price(prices, text); }), HasSubstr("with a point")) << text;
  }
}

}  // namespace
}  // namespace plimsoll::answer
