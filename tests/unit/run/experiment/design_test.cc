#include "experiment/design.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/random.h"
#include "experiment/example_files.h"
#include "experiment/queue.h"
#include "experiment/settings.h"

namespace plimsoll::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kTypedModels = R"json({"models": {"net": {
  "path": ".", "train_script": "./train.sh", "models": ["default"],
  "supported_hyperparams": {
    "optimizer": {"flag": "-o", "type": "text", "default": "adam", "choices": ["adam", "sgd", "lamb"]},
    "momentum": {"flag": "-m", "type": "float", "default": 0.9, "range": [0.5, 0.99],
                 "only_if": {"optimizer": "sgd"}},
    "amp": {"flag": "--amp", "type": "switch", "default": false},
    "shuffle": {"flag": "--shuffle", "type": "bool", "default": true},
    "batch_size": {"flag": "-b", "type": "int", "default": 64, "range": [16, 512]},
    "lr": {"flag": "--lr", "type": "float", "default": 0.01, "range": [0.0001, 0.1],
           "distribution": "log_uniform"},
    "seed": {"flag": "-s", "type": "int", "default": 1, "range": [1, 1000000]}}}}})json";

struct Planned {
  std::vector<Experiment> queue;
  std::string problems;
  size_t errors = 0;
};

Planned plan(const std::string& entry, uint64_t seed = 1, const std::string& top = "",
             const std::string& history = "") {
  Problems problems;
  const Catalog catalog = read_catalog(kTypedModels, "models.json", problems);
  const Settings settings =
      read_settings(fmt::format("{{{}\n\"experiments\": [{{\"repo\": \"net\", {}}}]}}", top, entry),
                    "s.json", catalog, problems);
  Planned made;
  std::vector<PastRun> past;
  if (!history.empty()) past = read_history(history, "h.csv", problems);
  if (problems.errors() == 0) made.queue = make_queue(settings, catalog, past, seed, problems);
  made.problems = all_of(problems);
  made.errors = problems.errors();
  return made;
}

std::string text_in(const Experiment& experiment, const std::string& name) {
  const Value* value = experiment.training.values.find(name);
  return value == nullptr ? "none" : text_of(*value);
}

std::vector<std::string> column(const Planned& planned, const std::string& name) {
  std::vector<std::string> cells;
  for (const Experiment& experiment : planned.queue) cells.push_back(text_in(experiment, name));
  return cells;
}

TEST(Design, AGridHasEveryCombinationInOrder) {
  const Planned made = plan(R"("grid": {"optimizer": ["adam", "lamb"], "batch_size": [32, 64]})");
  EXPECT_EQ(made.problems, "");
  EXPECT_THAT(column(made, "optimizer"), ElementsAre("adam", "adam", "lamb", "lamb"));
  EXPECT_THAT(column(made, "batch_size"), ElementsAre("32", "64", "32", "64"));
  EXPECT_THAT(column(made, "momentum"), ElementsAre("none", "none", "none", "none"));
}

TEST(Design, SomeOfAGridAreDrawnWithoutReplacement) {
  const Planned made = plan(R"("grid": {"batch_size": [16, 32, 64, 128]}, "settings": 2)");
  const auto sizes = column(made, "batch_size");
  EXPECT_EQ(std::set<std::string>(sizes.begin(), sizes.end()).size(), 2);
}

TEST(Design, AListIsRunAsWritten) {
  const Planned made =
      plan(R"("list": [{"lr": 0.1, "optimizer": "sgd"}, {"amp": true, "shuffle": false}],
                               "hyperparameters": {"batch_size": 32})");
  EXPECT_EQ(made.problems, "");
  EXPECT_THAT(column(made, "lr"), ElementsAre("0.1", "0.01"));
  EXPECT_THAT(column(made, "batch_size"), ElementsAre("32", "32"));
  EXPECT_THAT(column(made, "momentum"), ElementsAre("0.9", "none"));
  Problems none;
  const Catalog catalog = read_catalog(kTypedModels, "models.json", none);
  const auto words =
      training_command(catalog.repositories[0], "default", made.queue.at(1).training.values);
  EXPECT_EQ(fmt::format("{}", fmt::join(words, " ")),
            "./train.sh -o adam --amp --shuffle false -b 32 --lr 0.01 -s " +
                text_in(made.queue[1], "seed"));
}

TEST(Design, EqualSettingsOfAListRunOnceWithAWarning) {
  const Planned made =
      plan(R"("list": [{"lr": 0.1}, {"lr": 0.02}, {"lr": 0.1}, {"lr": 0.1, "batch_size": 64}])");
  EXPECT_EQ(made.queue.size(), 2);
  EXPECT_THAT(made.problems, HasSubstr("list: 2 of its 4 settings equal an earlier one and run "
                                       "only once, the first of them {lr 0.1}; \"repeats\" runs"));
  const Planned seeds = plan(R"("list": [{"lr": 0.1, "seed": 1}, {"lr": 0.1, "seed": 2}])");
  EXPECT_EQ(seeds.queue.size(), 2);
  EXPECT_EQ(seeds.problems, "");
}

TEST(Design, WarnsOfExperimentsThatRepeatAnEarlierOneWithTheSameSeed) {
  const Planned old = plan(R"("mode": "default", "runs_per_config": 4)");
  EXPECT_EQ(old.queue.size(), 4);
  EXPECT_THAT(old.problems, HasSubstr("3 experiments repeat an earlier one with the same seed"));
  EXPECT_THAT(old.problems, HasSubstr("use \"repeats\""));
  EXPECT_EQ(plan(R"("mode": "default", "repeats": 4)").problems, "");
  // Also those of different entries.
  const Planned two = plan(R"("list": [{"lr": 0.1, "seed": 3}]}, {"repo": "net", "mode": "default",
                              "hyperparameters": {"lr": 0.1, "seed": 3})");
  EXPECT_EQ(two.queue.size(), 2);
  EXPECT_THAT(two.problems, HasSubstr("1 experiment repeats an earlier one with the same seed"));
}

TEST(Design, RepeatsHaveTheSameValuesAndOtherSeedsTheSameForEverySetting) {
  const Planned made = plan(R"("choices": {"batch_size": [32, 64]}, "settings": 2, "repeats": 3)");
  ASSERT_EQ(made.queue.size(), 6) << made.problems;
  std::map<std::string, std::vector<std::string>> seeds;
  std::map<std::string, std::vector<size_t>> repeats;
  for (const Experiment& experiment : made.queue) {
    seeds[experiment.configuration].push_back(text_in(experiment, "seed"));
    repeats[experiment.configuration].push_back(experiment.repeat);
    EXPECT_EQ(experiment.configuration.find("seed"), std::string::npos);
  }
  ASSERT_EQ(seeds.size(), 2);
  EXPECT_EQ(seeds.begin()->second, seeds.rbegin()->second);
  EXPECT_EQ(
      std::set<std::string>(seeds.begin()->second.begin(), seeds.begin()->second.end()).size(), 3);
  for (const auto& [configuration, numbers] : repeats) EXPECT_THAT(numbers, ElementsAre(1, 2, 3));
}

// What a batch with this queue leaves in its summary.csv.
std::string summary_of(const std::vector<Experiment>& queue) {
  constexpr std::array kNames = {"optimizer",  "momentum", "amp", "shuffle",
                                 "batch_size", "lr",       "seed"};
  std::string text = "repository,model";
  for (const char* name : kNames) text += fmt::format(",hyperparam_{}", name);
  for (const Experiment& made : queue) {
    text += "\nnet,default";
    for (const char* name : kNames) {
      const std::string value = text_in(made, name);
      text += "," + (value == "none" ? "" : value);
    }
  }
  return text + "\n";
}

std::set<std::string> settings_of(const Planned& planned) {
  std::set<std::string> settings;
  for (const Experiment& made : planned.queue) settings.insert(made.configuration);
  return settings;
}

TEST(Design, ASettingOfTheHistoryDoesNotRunAgainWithOtherSeeds) {
  for (const char* varied :
       {R"("mutate": ["batch_size"])", R"("choices": {"optimizer": ["adam", "sgd", "lamb"]})",
        R"("mutate": ["lr", "amp"], "choices": {"amp": [true, false]})",
        R"("grid": {"batch_size": [16, 32, 64, 128]})",
        R"("list": [{"lr": 0.1}, {"lr": 0.2}, {"lr": 0.3}, {"lr": 0.4}])"}) {
    const std::string entry = std::string(varied) + R"(, "repeats": 2, "settings": )";
    const bool listed = std::string(varied).starts_with(R"("list)");
    const Planned first = plan(entry + "2");
    ASSERT_EQ(settings_of(first).size(), 2) << varied << first.problems;
    const Planned second = plan(entry + (listed ? "2" : "1"), 1, R"("use_deduplication": true,)",
                                summary_of(first.queue));
    ASSERT_FALSE(second.queue.empty()) << varied;
    for (const std::string& setting : settings_of(second)) {
      EXPECT_FALSE(settings_of(first).contains(setting)) << varied << ": " << setting;
    }
  }
}

TEST(Design, ASettingOfAnEarlierEntryDoesNotRunAgainWithOtherSeeds) {
  const Planned made =
      plan(R"("choices": {"shuffle": [true, false]}, "mutate": ["seed"], "runs_per_config": 1},
      {"repo": "net", "choices": {"shuffle": [true, false]}, "settings": 2, "repeats": 2)");
  EXPECT_EQ(settings_of(made).size(), 2);
  EXPECT_EQ(made.queue.size(), 3) << made.problems;
}

TEST(Design, AFixedSeedStaysFixedInEveryRepeat) {
  const Planned made = plan(R"("mode": "default", "repeats": 3, "hyperparameters": {"seed": 5})");
  EXPECT_THAT(column(made, "seed"), ElementsAre("5", "5", "5"));
}

TEST(Design, RunsPerConfigKeepsItsOldMeanings) {
  const Planned same = plan(R"("mode": "default", "runs_per_config": 3)");
  EXPECT_THAT(column(same, "seed"), ElementsAre("1", "1", "1"));
  const Planned drawn = plan(R"("mutate": ["seed"], "runs_per_config": 3)");
  EXPECT_EQ(drawn.problems, "");
  const auto seeds = column(drawn, "seed");
  EXPECT_EQ(std::set<std::string>(seeds.begin(), seeds.end()).size(), 3);
  EXPECT_EQ(drawn.queue.at(2).configuration, drawn.queue.at(0).configuration);
  EXPECT_EQ(drawn.queue.at(2).repeat, 3);
}

TEST(Design, ALatinHypercubeTakesEachPartOfARangeOnce) {
  const Planned made =
      plan(R"("design": "lhs", "mutate": ["lr", "batch_size", "optimizer"], "settings": 30)", 7);
  EXPECT_EQ(made.problems, "");
  ASSERT_EQ(made.queue.size(), 30);
  std::set<int> parts;
  std::map<std::string, int> optimizers;
  for (const Experiment& experiment : made.queue) {
    const double lr = experiment.training.values.find("lr")->number;
    parts.insert(static_cast<int>(std::log10(lr / 0.0001) / 3 * 30));
    ++optimizers[text_in(experiment, "optimizer")];
  }
  EXPECT_EQ(parts.size(), 30);
  for (const auto& [name, times] : optimizers) EXPECT_EQ(times, 10) << name;
}

TEST(Design, AValueThatItsConditionRemovesIsNamed) {
  const auto problems = [](const std::string& entry) { return plan(entry).problems; };
  const std::string needs = "momentum has no effect: it is only passed with optimizer sgd";
  EXPECT_THAT(problems(R"("mode": "default", "hyperparameters": {"momentum": 0.8})"),
              HasSubstr(needs));
  EXPECT_THAT(problems(R"("list": [{"momentum": 0.8}, {"optimizer": "sgd", "momentum": 0.8}])"),
              HasSubstr("list: in 1 of its 2 settings, " + needs));
  EXPECT_THAT(problems(R"("grid": {"momentum": [0.8, 0.9]})"), HasSubstr(needs));
  EXPECT_THAT(problems(R"("mutate": ["momentum", "lr"], "settings": 3)"), HasSubstr(needs));
  EXPECT_EQ(
      problems(R"("mode": "default", "hyperparameters": {"momentum": 0.8, "optimizer": "sgd"})"),
      "");
  EXPECT_EQ(problems(R"("grid": {"momentum": [0.8], "optimizer": ["adam", "sgd"]})"), "");
  EXPECT_EQ(
      problems(
          R"("hyperparameters": {"momentum": 0.8}, "choices": {"optimizer": ["adam", "sgd"]})"),
      "");
}

TEST(Design, AnExclusionThatLeavesOutNothingIsNamed) {
  for (const char* entry :
       {R"("grid": {"batch_size": [32, 64]}, "exclude": {"batch_size": 128})",
        R"("grid": {"batch_size": [32, 64]}, "exclude": {"batch_size": 32, "lr": 0.1})",
        R"("choices": {"batch_size": [32, 64]}, "exclude": {"batch_size": [128, 256]})",
        R"("list": [{"batch_size": 32}], "exclude": {"batch_size": {"min": 100}})",
        R"("mutate": ["lr"], "exclude": {"lr": {"min": 1}})"}) {
    EXPECT_THAT(plan(entry).problems, HasSubstr("leaves out nothing: no setting has")) << entry;
  }
  for (const char* entry :
       {R"("grid": {"batch_size": [32, 64]}, "exclude": {"batch_size": 64})",
        R"("mutate": ["batch_size"], "exclude": {"batch_size": 128})",
        R"("mutate": ["lr"], "exclude": {"lr": {"max": 0.001}})",
        R"("mutate": ["lr"], "exclude": {"lr": {"max": 0.001}, "batch_size": 64})"}) {
    EXPECT_EQ(plan(entry).problems, "") << entry;
  }
}

TEST(Design, AShortageSaysWhatWasExcluded) {
  EXPECT_THAT(
      plan(R"("grid": {"batch_size": [16, 32, 64]}, "exclude": {"batch_size": 32}, "settings": 3)")
          .problems,
      HasSubstr("it asks for 3 settings, 2 are left and run: its grid has 3, 1 is excluded"));
  EXPECT_THAT(
      plan(
          R"("choices": {"batch_size": [16, 32, 64]}, "exclude": {"batch_size": 32}, "settings": 3)")
          .problems,
      HasSubstr("2 are left and run: its ranges have 3, 1 is excluded"));
  const Planned none = plan(
      R"("choices": {"lr": [0.1, 0.2]}, "mutate": ["batch_size"], "exclude": {"lr": {"min": 0}})");
  EXPECT_THAT(none.problems, testing::Not(HasSubstr("these run")));
}

TEST(Design, CopiesAreNotNamedBesideErrors) {
  const std::string copies = R"("mode": "default", "runs_per_config": 2})";
  EXPECT_THAT(plan(copies + R"(, {"repo": "net", "mode": "default")").problems,
              HasSubstr("with the same seed"));
  Problems problems;
  const Catalog catalog = read_catalog(kTypedModels, "models.json", problems);
  const Settings settings = read_settings(
      R"({"experiments": [{"repo": "net", "mode": "default", "runs_per_config": 2}, {"repo": "nt"}]})",
      "s.json", catalog, problems);
  make_queue(settings, catalog, {}, 1, problems);
  EXPECT_EQ(problems.all().size(), 1) << all_of(problems);
}

TEST(Design, SaysWhatCannotWork) {
  EXPECT_THAT(plan(R"("grid": {"lr": [0.1]}, "list": [{}])").problems,
              HasSubstr("give one of them"));
  EXPECT_THAT(plan(R"("grid": {"lr": []})").problems, HasSubstr("grid: lr has no values"));
  EXPECT_THAT(plan(R"("grid": {})").problems, HasSubstr("grid names no hyperparameter"));
  EXPECT_THAT(plan(R"("grid": {"comment": "later"})").problems,
              HasSubstr("grid names no hyperparameter"));
  EXPECT_THAT(plan(R"("choices": {}, "settings": 2)").problems,
              HasSubstr("choices names no hyperparameter"));
  EXPECT_THAT(plan(R"("list": [])").problems, HasSubstr("list is empty"));
  EXPECT_THAT(plan(R"("grid": {"lr": [0.1, 0.1]})").problems, HasSubstr("has the value 0.1 twice"));
  EXPECT_THAT(plan(R"("grid": {"lrr": [0.1]})").problems, HasSubstr("did you mean lr?"));
  EXPECT_THAT(plan(R"("grid": {"batch_size": [1.5]})").problems,
              HasSubstr("batch_size is 1.5; it must be a 64-bit int"));
  EXPECT_THAT(plan(R"("grid": {"amp": ["yes"]})").problems,
              HasSubstr("amp is a string; it must be true or false"));
  EXPECT_THAT(plan(R"("grid": {"lr": [0.1]}, "hyperparameters": {"lr": 1})").problems,
              HasSubstr("lr is both fixed and varied"));
  EXPECT_THAT(plan(R"("grid": {"lr": [0.1]}, "runs_per_config": 2)").problems,
              HasSubstr("runs_per_config is ambiguous for a grid"));
  EXPECT_THAT(plan(R"("mutate": ["lr"], "settings": 2, "runs_per_config": 2)").problems,
              HasSubstr("not both"));
  EXPECT_THAT(plan(R"("mode": "default", "settings": 2)").problems,
              HasSubstr("settings needs something to vary"));
  EXPECT_THAT(plan(R"("mode": "default", "grid": {"lr": [0.1]})").problems,
              HasSubstr("mode default has one setting"));
  EXPECT_THAT(plan(R"("mutate": ["lr"], "exclude": {})").problems,
              HasSubstr("would exclude everything"));
  EXPECT_THAT(plan(R"("mutate": ["lr"], "design": "sobol")").problems,
              HasSubstr("it must be random or lhs"));
  EXPECT_THAT(plan(R"("mutate": ["seed"], "repeats": 2)").problems,
              HasSubstr("varies only with the repeats"));
  EXPECT_THAT(plan(R"("mode": "default")", 1, R"("order": "sorted",)").problems,
              HasSubstr("as_listed, random or blocked"));
}

TEST(Order, BlocksContainEverySettingOnceAndWarmUpsComeFirst) {
  const Planned made = plan(R"("grid": {"batch_size": [16, 32, 64, 128]}, "repeats": 3)", 5,
                            R"("order": "blocked", "warmup": 2,)");
  ASSERT_EQ(made.queue.size(), 14) << made.problems;
  EXPECT_TRUE(made.queue[0].warmup && made.queue[1].warmup && !made.queue[2].warmup);
  EXPECT_EQ(made.queue[0].configuration, made.queue[2].configuration);
  EXPECT_EQ(made.queue[0].folder, "warmup_net_default_001");
  EXPECT_EQ(made.queue[2].folder, "net_default_003");
  bool changed = false;
  for (size_t block = 0; block < 3; ++block) {
    std::set<std::string> sizes;
    for (size_t i = 0; i < 4; ++i) {
      const Experiment& experiment = made.queue[2 + 4 * block + i];
      EXPECT_EQ(experiment.repeat, block + 1);
      sizes.insert(text_in(experiment, "batch_size"));
      changed = changed || experiment.listed != 3 * i + block + 1;
    }
    EXPECT_EQ(sizes.size(), 4);
  }
  EXPECT_TRUE(changed);
}

TEST(Order, RandomDependsOnTheSeedAlone) {
  const auto listed = [](uint64_t seed) {
    std::vector<size_t> places;
    for (const Experiment& made : plan(R"("grid": {"batch_size": [16, 32, 64, 128, 256, 512]})",
                                       seed, R"("order": "random",)")
                                      .queue) {
      places.push_back(made.listed);
    }
    return places;
  };
  EXPECT_EQ(listed(3), listed(3));
  EXPECT_NE(listed(3), listed(4));
}

// The property test: whatever is asked for, every experiment obeys the rules of its design.
class RandomDesign {
 public:
  explicit RandomDesign(uint64_t seed) : random_(seed, 99) {}

  std::string entry() {
    const uint64_t kind = pick(4);
    std::string text;
    if (kind == 0) text = R"("mutate": ["lr", "batch_size", "momentum"], "choices": )" + choices();
    if (kind == 1) text = R"("design": "lhs", "mutate": ["all"])";
    if (kind == 2) text = R"("grid": )" + choices();
    if (kind == 3) text = R"("choices": )" + choices();
    if (kind != 2) text += fmt::format(R"(, "settings": {})", 1 + pick(20));
    text += fmt::format(R"(, "repeats": {})", 1 + pick(3));
    if (pick(2) == 0) {
      text +=
          R"(, "exclude": [{"optimizer": "sgd", "batch_size": {"min": 64}}, {"amp": true, "optimizer": "adam"}])";
      excludes = true;
    }
    if (pick(2) == 0) {
      text += R"(, "only_if": {"shuffle": {"amp": false}})";
      shuffle_needs_no_amp = true;
    }
    return text;
  }
  std::string top() {
    constexpr std::array kOrders = {"as_listed", "random", "blocked"};
    return fmt::format(R"("order": "{}", "warmup": {},)", kOrders.at(pick(3)), pick(3));
  }
  bool excludes = false;
  bool shuffle_needs_no_amp = false;

 private:
  std::string choices() {
    std::string text = R"({"optimizer": ["adam", "sgd"])";
    if (pick(2) == 0) text += R"(, "amp": [true, false])";
    if (pick(2) == 0) text += R"(, "batch_size": [32, 64, 128])";
    return text + "}";
  }
  uint64_t pick(uint64_t bound) { return below(random_.at(next_++), bound); }

  RandomStream random_;
  uint64_t next_ = 0;
};

std::string text_of_queue(const std::vector<Experiment>& queue) {
  std::string text;
  for (const Experiment& made : queue) {
    text += fmt::format("{} {} {} {}\n", made.folder, made.listed, made.repeat,
                        describe(made.training.values));
  }
  return text;
}

void expect_rules(const Planned& made, const RandomDesign& asked) {
  std::set<std::pair<std::string, size_t>> repeats;
  for (const Experiment& experiment : made.queue) {
    const std::string optimizer = text_in(experiment, "optimizer");
    const std::string amp = text_in(experiment, "amp");
    EXPECT_EQ(text_in(experiment, "momentum") != "none", optimizer == "sgd");
    if (asked.shuffle_needs_no_amp) {
      EXPECT_EQ(text_in(experiment, "shuffle") != "none", amp == "false");
    }
    const double batch = experiment.training.values.find("batch_size")->number;
    const double rate = experiment.training.values.find("lr")->number;
    EXPECT_TRUE(batch >= 16 && batch <= 512 && rate >= 0.0001 && rate <= 0.1);
    if (asked.excludes) {
      EXPECT_FALSE(optimizer == "sgd" && batch >= 64);
      EXPECT_FALSE(amp == "true" && optimizer == "adam");
    }
    if (experiment.warmup) continue;
    EXPECT_TRUE(repeats.insert({experiment.configuration, experiment.repeat}).second)
        << "twice: " << experiment.configuration;
  }
}

TEST(Design, EveryConstraintHoldsInAThousandRandomDesignsAndTheSameSeedGivesTheSameQueue) {
  size_t experiments = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    RandomDesign asked(seed);
    const std::string entry = asked.entry();
    const std::string top = asked.top();
    const Planned made = plan(entry, seed, top);
    const bool nothing_left = made.problems.find("no combination is left") != std::string::npos;
    EXPECT_EQ(made.errors, nothing_left ? 1 : 0) << entry << "\n" << made.problems;
    expect_rules(made, asked);
    EXPECT_EQ(text_of_queue(made.queue), text_of_queue(plan(entry, seed, top).queue)) << entry;
    experiments += made.queue.size();
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed << ": " << entry;
  }
  EXPECT_GT(experiments, 10'000);
}

}  // namespace
}  // namespace plimsoll::experiment
