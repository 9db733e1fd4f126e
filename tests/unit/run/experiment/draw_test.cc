#include "experiment/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "experiment/example_files.h"
#include "experiment/queue.h"

namespace plimsoll::experiment {
namespace {

using testing::HasSubstr;

TEST(Draw, TheTextReadsBackAsTheSameNumber) {
  const Hyperparameter rate{.low = {1.5e-5}, .high = {4.5e-5}, .log_uniform = true};
  std::set<double> distinct;
  for (uint64_t i = 0; i < 1000; ++i) {
    const Value value = draw_value(rate, ~uint64_t{0}, i * 0x9e3779b97f4a7c15U);
    EXPECT_GE(value.number, 1.5e-5);
    EXPECT_LE(value.number, 4.5e-5);
    EXPECT_EQ(std::strtod(text_of(value).c_str(), nullptr), value.number);
    distinct.insert(value.number);
  }
  EXPECT_GT(distinct.size(), 990);
}

TEST(Draw, LogUniformHasItsMedianAtTheGeometricMean) {
  const Hyperparameter rate{.low = {1e-4}, .high = {1e-2}, .log_uniform = true};
  EXPECT_NEAR(draw_value(rate, ~uint64_t{0}, uint64_t{1} << 63).number, 1e-3, 1e-6);
}

TEST(Draw, IntegersReachBothEnds) {
  const Hyperparameter width{.whole = true, .low = {1}, .high = {4}};
  EXPECT_EQ(draw_value(width, ~uint64_t{0}, 0).number, 1);
  EXPECT_EQ(draw_value(width, ~uint64_t{0}, ~uint64_t{0}).number, 4);
}

TEST(Draw, IntegersOf64BitsReachBothEndsAndKeepTheirDigits) {
  Hyperparameter seed{.whole = true, .low = value_of(0), .high = value_of(UINT64_MAX)};
  EXPECT_EQ(text_of(draw_value(seed, ~uint64_t{0}, 0)), "0");
  EXPECT_EQ(text_of(draw_value(seed, ~uint64_t{0}, UINT64_MAX)), "18446744073709551615");
  EXPECT_EQ(text_of(draw_value(seed, ~uint64_t{0}, (uint64_t{1} << 53) + 1)), "9007199254740993");
  seed.low = value_of(INT64_MIN);
  seed.high = value_of(INT64_MAX);
  EXPECT_EQ(text_of(draw_value(seed, ~uint64_t{0}, 0)), "-9223372036854775808");
  EXPECT_EQ(text_of(draw_value(seed, ~uint64_t{0}, UINT64_MAX)), "9223372036854775807");
  EXPECT_FALSE(distinct_values(seed));
}

TEST(Draw, TwoLargeIntegersNextToEachOtherAreTwo) {
  const Catalog catalog = example_catalog();
  Repository large = *catalog.find("plain");
  large.hyperparameters[0] = {.name = "width",
                              .flag = "-w",
                              .whole = true,
                              .has_range = true,
                              .low = value_of(9007199254740992),
                              .high = value_of(9007199254740995)};
  Drawer drawer(large, {"width"}, {}, 42, 0);
  std::set<std::string> seen;
  while (const auto values = drawer.next()) seen.insert(text_of(*values->find("width")));
  EXPECT_EQ(seen, (std::set<std::string>{"9007199254740992", "9007199254740993", "9007199254740994",
                                         "9007199254740995"}));
}

TEST(Draw, ZeroIsDrawnFirst) {
  const Hyperparameter decay{.low = {1}, .high = {2}, .zero_probability = 0.5};
  EXPECT_EQ(draw_value(decay, 0, 5).number, 0);
  EXPECT_GE(draw_value(decay, ~uint64_t{0}, 5).number, 1);
}

TEST(Draw, EveryCombinationComesOnceAndTheDefaultsNever) {
  const Catalog catalog = example_catalog();
  const Repository& plain = *catalog.find("plain");
  Drawer drawer(plain, {"width"}, plain.defaults(), 42, 0);
  EXPECT_EQ(drawer.left(), 4);  // 0, 1, 3, 4: not the default
  EXPECT_EQ(drawer.left(3), 3);
  std::set<double> seen;
  while (const auto values = drawer.next()) seen.insert(values->find("width")->number);
  EXPECT_EQ(seen, (std::set<double>{0, 1, 3, 4}));
}

TEST(Draw, CountsWhatTheRulesLeaveAsFarAsAsked) {
  const Catalog catalog = example_catalog();
  const Repository& plain = *catalog.find("plain");
  Design design;
  design.rules.exclude = {{{.parameter = "width", .least = 3}}};
  const Drawer drawer(plain, {"width"}, plain.defaults(), 42, 0, design);
  EXPECT_EQ(drawer.left(), 2);  // 0 and 1: not the default, and none from 3 up
  EXPECT_EQ(drawer.left(1), 1);
  EXPECT_EQ(drawer.left(3), 2);
}

TEST(Draw, TheSameSeedGivesTheSameDraws) {
  const Catalog catalog = example_catalog();
  const Repository& examples = *catalog.find("examples");
  const auto draw = [&](uint64_t seed) {
    return Drawer(examples, {"epochs", "seed"}, examples.defaults(), seed, 3).next();
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

class Queue : public testing::Test {
 protected:
  std::vector<Experiment> make(const std::string& settings, const std::string& history = "") {
    const Catalog catalog = example_catalog();
    const auto read = read_settings(settings, "s.json", catalog, problems_);
    std::vector<PastRun> past;
    if (!history.empty()) past = read_history(history, "h.csv", problems_);
    auto queue = make_queue(read, catalog, past, 42, problems_);
    name_experiments(queue, "run_1");
    return queue;
  }
  Problems problems_;
};

TEST_F(Queue, HasIdsThatAreUniqueAcrossRunsAndFoldersAsScriptsReadThem) {
  const auto queue = make(R"({"experiments": [
    {"repo": "examples", "model": "mnist", "mode": "default"},
    {"mode": "parallel", "foreground": {"repo": "examples", "model": "ff", "mutate": ["epochs"]},
     "background": {"repo": "plain", "model": "default"}}]})");
  EXPECT_EQ(all_of(problems_), "");
  ASSERT_EQ(queue.size(), 2);
  EXPECT_EQ(queue[0].folder, "examples_mnist_001");
  EXPECT_EQ(queue[1].folder, "examples_ff_002_parallel");
  EXPECT_EQ(queue[1].id, "run_1__examples_ff_002_parallel");
  EXPECT_EQ(queue[1].background->values.find("width")->number, 2);
}

// The folder of the first experiment of `model` in the repository `repo`.
std::string folder_of_model(const std::string& repo, const std::string& model) {
  Catalog catalog;
  catalog.repositories.push_back({.name = repo, .models = {model}});
  Settings settings;
  settings.entries.push_back(
      {.foreground = {.repository = repo, .model = model, .mutation = false}, .runs = 1});
  Problems problems;
  const auto queue = make_queue(settings, catalog, {}, 42, problems);
  EXPECT_EQ(queue.at(0).training.model, model);
  return queue.at(0).folder;
}

TEST(FolderName, FitsAndStaysOneFolderWhateverTheModelIsCalled) {
  EXPECT_EQ(folder_of_model("re po", "a/b"), "re_po_a_b_001");
  EXPECT_EQ(folder_of_model("..", "../up"), "_._.._up_001");
  EXPECT_EQ(folder_of_model("-rf", "x\ny\x1b[31m\x7f"), "_rf_x_y_[31m__001");
  EXPECT_EQ(folder_of_model("größe", "模型"), "größe_模型_001");
  const std::string longest(255 - std::string("r__001_parallel").size(), 'm');
  for (const std::string& model :
       {std::string(300, 'm'), std::string(5000, 'm'), longest, std::string(400, '/')}) {
    EXPECT_LE(folder_of_model("r", model).size(), 220);
  }
  EXPECT_NE(folder_of_model("r", std::string(300, 'm')),
            folder_of_model("r", std::string(301, 'm')));
  EXPECT_EQ(folder_of_model("r", std::string(190, 'm')), "r_" + std::string(190, 'm') + "_001");
  std::string wide;
  for (int i = 0; i < 200; ++i) wide += "模";
  for (const std::string before : {"", "a", "aa"}) {
    const std::string folder = folder_of_model("r", before + wide);
    const auto cut = folder.find("_", 2);
    EXPECT_EQ((cut - 2 - before.size()) % 3, 0) << "a character was cut in two: " << folder;
  }
}

TEST_F(Queue, HistoryIsComparedAsNumbers) {
  const auto queue = make(R"({"use_deduplication": true, "experiments": [
    {"repo": "plain", "model": "default", "runs_per_config": 2}]})",
                          "experiment_id,repository,model,hyperparam_width\n"
                          "a,plain,default,1.000000\nb,plain,default,3\n");
  EXPECT_EQ(all_of(problems_), "");
  std::set<double> drawn;
  for (const auto& made : queue) drawn.insert(made.training.values.find("width")->number);
  EXPECT_EQ(drawn, (std::set<double>{0, 4}));
}

TEST_F(Queue, HistoryIsComparedDigitByDigit) {
  const auto runs = read_history(
      "repository,model,hyperparam_seed\n"
      "examples,mnist,9007199254740993\nexamples,mnist,1e-5\n",
      "h.csv", problems_);
  ASSERT_EQ(runs.size(), 2);
  EXPECT_EQ(text_of(runs[0].values.at("seed")), "9007199254740993");
  EXPECT_NE(runs[0].values.at("seed"), value_of(9007199254740992));
  EXPECT_EQ(runs[1].values.at("seed").number, 1e-5);
}

TEST_F(Queue, ATableOfTooManyCellsIsRefusedWithItsName) {
  read_history("repository,model" + std::string(10'000, ','), "h.csv", problems_);
  EXPECT_THAT(all_of(problems_), HasSubstr("h.csv: error: row 1 of the table has more than 10000"));
}

TEST_F(Queue, AnExhaustedRangeSaysHowManyAreLeft) {
  const auto queue = make(R"({"experiments": [
    {"repo": "plain", "model": "default", "runs_per_config": 9}]})");
  EXPECT_THAT(all_of(problems_),
              HasSubstr("warning: plain/default asks for 9 combinations, 4 are left and run: its "
                        "ranges have 4 besides the defaults"));
  EXPECT_EQ(queue.size(), 4);
}

TEST_F(Queue, TwoEntriesOfOneModelShareWhatWasDrawn) {
  const auto queue = make(R"({"experiments": [
    {"repo": "plain", "model": "default", "runs_per_config": 2},
    {"repo": "plain", "model": "default", "runs_per_config": 2}]})");
  std::set<double> drawn;
  for (const auto& made : queue) drawn.insert(made.training.values.find("width")->number);
  EXPECT_EQ(drawn.size(), 4);
}

TEST_F(Queue, ATableWithRowsOfAnotherWidthIsRefused) {
  make(R"({"experiments": [{"repo": "plain", "model": "default"}]})",
       "repository,model\nplain,default,3\n");
  EXPECT_THAT(all_of(problems_), HasSubstr("h.csv:2: error: a row of 3 cells in a table of 2"));
}

}  // namespace
}  // namespace plimsoll::experiment
