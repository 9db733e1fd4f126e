#include "experiment/settings.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/units.h"
#include "experiment/example_files.h"
#include "experiment/queue.h"
#include "temp_folder.h"

namespace plimsoll::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Read {
  Settings settings;
  std::string problems;
  size_t errors = 0;
  size_t notes = 0;
};

Read read(const std::string& text, KeyPolicy keys = KeyPolicy::usual) {
  Problems problems(keys);
  Settings settings = read_settings(text, "s.json", example_catalog(), problems);
  return {.settings = settings,
          .problems = all_of(problems),
          .errors = problems.errors(),
          .notes = problems.notes()};
}

TEST(Settings, ReadsTheFormatInUse) {
  const Read made = read(R"({"experiment_name": "n", "description": "d", "governor": "performance",
    "runs_per_config": 3, "max_retries": 1, "use_deduplication": true, "historical_csvs": ["a.csv"],
    "experiments": [
     {"repo": "examples", "model": "mnist", "mode": "mutation", "mutate": ["epochs", "seed"],
      "runs_per_config": 5},
     {"repo": "examples", "model": "ff", "mode": "default", "hyperparameters": {"epochs": 60}}]})");
  EXPECT_EQ(made.problems, "");
  EXPECT_EQ(made.notes, 1);
  EXPECT_TRUE(made.settings.deduplicate);
  EXPECT_EQ(made.settings.entries.at(0).runs, 5);
  EXPECT_THAT(made.settings.entries.at(0).foreground.mutate, ElementsAre("epochs", "seed"));
  EXPECT_EQ(made.settings.entries.at(1).runs, 3);
  EXPECT_EQ(made.settings.entries.at(1).foreground.fixed.find("epochs")->number, 60);
}

TEST(Settings, OfACommandLineTakeTheOnlyModelOrAskForOne) {
  Problems problems;
  const Catalog catalog = example_catalog();
  const Settings only = settings_of({.repository = "plain"}, catalog, problems);
  EXPECT_EQ(problems.errors(), 0);
  EXPECT_EQ(only.entries.at(0).foreground.model, "default");
  settings_of({.repository = "examples"}, catalog, problems);
  EXPECT_THAT(
      all_of(problems),
      HasSubstr("examples has several models, and none is named here; there are mnist, ff"));
}

TEST(Settings, ThatNestTooDeepAreRefusedWithTheFileTheDepthAndTheLimit) {
  expect_error(ErrorKind::input, {"s.json", "400000 deep", "64 is the most"},
               [] { read(std::string(400'000, '[')); });
  expect_error(ErrorKind::input, {"s.json", "400001 deep"},
               [] { read("{\"experiments\": " + std::string(400'000, '[')); });
}

TEST(Settings, ThatAreTooLargeAreRefusedWithTheLimit) {
  expect_error(ErrorKind::input, {"s.json", "bytes of JSON"},
               [] { read("\"" + std::string(17 * kMiB, 'x') + "\""); });
  std::string many = "[0";
  for (int i = 0; i < 1'000'000; ++i) many += ",0";
  expect_error(ErrorKind::input, {"s.json", "1000000 is the most"}, [&] { read(many + "]"); });
  std::string keys = "{\n\"k\": 0";
  for (int i = 0; i < 1000; ++i) keys += fmt::format(",\n\"k{}\": 0", i);
  expect_error(ErrorKind::input, {"s.json:1002", "1000 members"}, [&] { read(keys + "}"); });
}

TEST(Settings, KeepAllDigitsOfAHyperparameter) {
  for (const char* digits :
       {"9007199254740993", "18446744073709551615", "-9223372036854775808", "1000000", "0", "-1"}) {
    const Read made = read(fmt::format(
        R"({{"experiments": [{{"repo": "examples", "model": "mnist", "mode": "default",
             "hyperparameters": {{"seed": {}}}, "env": {{"SEED": {}}}}}]}})",
        digits, digits));
    EXPECT_EQ(made.problems, "");
    const SettingsEntry& entry = made.settings.entries.at(0);
    EXPECT_EQ(text_of(*entry.foreground.fixed.find("seed")), digits);
    EXPECT_EQ(entry.terms.environment.at("SEED"), digits);
  }
}

TEST(Settings, AWholeNumberOfMoreThan64BitsIsAnErrorThatNamesIt) {
  expect_error(ErrorKind::input, {"s.json:2", "18446744073709551616", "64 bits"},
               [] { read("{\"experiments\": [],\n \"x\": 18446744073709551616}"); });
  EXPECT_THAT(read(R"({"experiments": [{"repo": "examples", "model": "mnist", "mode": "default",
                       "hyperparameters": {"seed": 1e30}}]})")
                  .problems,
              HasSubstr("seed is 1e+30; it must be a 64-bit int"));
}

TEST(Settings, CountsHaveAnEnd) {
  for (const char* key : {"runs_per_config", "num_mutations", "baseline_runs"}) {
    for (const char* count : {"1000001", "1e300", "-1", "0.5", "\"3\""}) {
      const Read made = read(fmt::format(
          R"({{"experiments": [{{"repo": "plain", "model": "default", "{}": {}}}]}})", key, count));
      EXPECT_THAT(made.problems, HasSubstr(std::string(key) + " is ")) << count;
    }
  }
}

TEST(Settings, TakesRunsOfAParallelEntryFromTheEntryThenTheForegroundThenTheTop) {
  const auto runs = [](const std::string& outer, const std::string& inner) {
    return read(R"({"runs_per_config": 2, "experiments": [{"mode": "parallel", )" + outer +
                R"("foreground": {"repo": "examples", "model": "ff", )" + inner +
                R"("mutate": ["epochs"]},
                   "background": {"repo": "plain", "model": "default"}}]})")
        .settings.entries.at(0)
        .runs.value();
  };
  EXPECT_EQ(runs(R"("runs_per_config": 5, )", R"("runs_per_config": 4, )"), 5);
  EXPECT_EQ(runs("", R"("runs_per_config": 4, )"), 4);
  EXPECT_EQ(runs("", ""), 2);
}

TEST(Settings, UnderstandsKeysThatWereNeverReadAndNamesThePresentOnes) {
  const Read made = read(R"({"global_settings": {"max_retries": 7}, "experiments": [
    {"repository": "examples", "model": "mnist", "mode": "nonparallel", "mutation_type": "mutation",
     "mutate_params": ["epochs"], "num_mutations": 4, "baseline_runs": 2, "timeout": 600,
     "fixed_hyperparams": {"seed": 1}}]})");
  EXPECT_EQ(made.errors, 0) << made.problems;
  const SettingsEntry& entry = made.settings.entries.at(0);
  EXPECT_EQ(made.settings.max_retries, 7);
  EXPECT_EQ(entry.foreground.repository, "examples");
  EXPECT_TRUE(entry.foreground.mutation);
  EXPECT_THAT(entry.foreground.mutate, ElementsAre("epochs"));
  EXPECT_EQ(entry.runs, 4);
  EXPECT_EQ(entry.baseline_runs, 2);
  EXPECT_EQ(entry.terms.timeout_seconds, 600);
  EXPECT_EQ(entry.foreground.fixed.find("seed")->number, 1);
  EXPECT_THAT(made.problems, HasSubstr("s.json:3: warning: mutate_params is taken as mutate"));
  EXPECT_THAT(made.problems, HasSubstr("num_mutations is taken as runs_per_config"));
  EXPECT_THAT(made.problems, HasSubstr("repository is taken as repo"));
}

TEST(Settings, AnUnknownKeyIsAnErrorWithTheNearestOneUnlessLenient) {
  const std::string text = R"({"experiments": [
    {"repo": "examples", "model": "mnist", "mutat": ["epochs"], "estimated_hours": 3}]})";
  const Read strict = read(text);
  EXPECT_EQ(strict.errors, 1);
  EXPECT_EQ(strict.notes, 1);
  EXPECT_THAT(strict.problems,
              HasSubstr("s.json:2: error: unknown key mutat in this entry; did you "
                        "mean mutate?"));
  EXPECT_EQ(read(text, KeyPolicy::lenient).errors, 0);
}

TEST(Settings, AnUnknownKeyNearNoneIsAWarningUnlessStrict) {
  const std::string text = R"({"experiments": [
    {"repo": "plain", "model": "default", "colour": "blue"}], "num_experiments": 1})";
  const Read usual = read(text);
  EXPECT_EQ(usual.errors, 0) << usual.problems;
  EXPECT_THAT(usual.problems,
              HasSubstr("warning: unknown key colour in this entry: it has no effect"));
  EXPECT_THAT(usual.problems, HasSubstr("warning: unknown key num_experiments"));
  EXPECT_EQ(read(text, KeyPolicy::strict).errors, 2);
}

TEST(Settings, AKeyThatBelongsElsewhereIsAnErrorThatSaysWhere) {
  const Read made = read(R"({"mutate": ["epochs"], "experiments": [
    {"repo": "plain", "model": "default", "historical_csvs": []}]})");
  EXPECT_EQ(made.errors, 2) << made.problems;
  EXPECT_THAT(made.problems, HasSubstr("mutate has no meaning in the settings; it belongs to an "
                                       "entry of `experiments`"));
  EXPECT_THAT(made.problems, HasSubstr("historical_csvs has no meaning in this entry; it belongs "
                                       "to the top level"));
}

TEST(Problems, OfOneCauseAreOneLineWithTheirNumberAndTheFirstThreePlaces) {
  Problems problems;
  for (const size_t line : {9, 3, 3, 5, 7}) problems.warning("s.json", line, "k is taken as l");
  problems.error("s.json", 4, "k is taken as l");
  problems.warning("a.json", 8, "k is taken as l");
  std::string all;
  for (const ProblemGroup& group : problems.grouped()) all += describe(group) + "\n";
  EXPECT_EQ(all,
            "a.json:8: warning: k is taken as l\n"
            "s.json:3: warning: k is taken as l (5 times: lines 3, 5, 7, ...)\n"
            "s.json:4: error: k is taken as l\n");
}

TEST(Settings, AFormerKeyThatAgreesWithItsPresentOneIsFine) {
  const Read made = read(R"({"experiments": [{"repo": "examples", "repository": "examples",
    "model": "mnist", "mutate": ["epochs"], "mutate_params": ["epochs"]}]})");
  EXPECT_EQ(made.problems, "");
}

TEST(Settings, AFormerKeyBesideItsPresentOneIsAnErrorThatNamesBoth) {
  const std::string text = R"({"deduplication": true, "use_deduplication": false, "experiments": [
    {"repo": "examples", "model": "mnist", "repository": "plain", "mode": "mutation",
     "mutation_type": "default", "num_mutations": 4, "runs_per_config": 2,
     "mutate": ["epochs"], "mutate_params": ["seed"],
     "hyperparameters": {"learning_rate": 0.1}, "fixed_hyperparams": {"learning_rate": 0.2}}]})";
  const Read strict = read(text);
  EXPECT_EQ(strict.errors, 6) << strict.problems;
  EXPECT_THAT(strict.problems,
              HasSubstr("s.json:3: error: num_mutations and runs_per_config mean the same, but "
                        "both are present; remove num_mutations"));
  const Read lenient = read(text, KeyPolicy::lenient);
  EXPECT_EQ(lenient.errors, 0) << lenient.problems;
  EXPECT_THAT(lenient.problems, HasSubstr("warning: mutate_params and mutate mean the same, but "
                                          "both are present; mutate is used"));
  const SettingsEntry& entry = lenient.settings.entries.at(0);
  EXPECT_FALSE(lenient.settings.deduplicate);
  EXPECT_EQ(entry.foreground.repository, "examples");
  EXPECT_TRUE(entry.foreground.mutation);
  EXPECT_EQ(entry.runs, 2);
  EXPECT_THAT(entry.foreground.mutate, ElementsAre("epochs"));
  EXPECT_EQ(entry.foreground.fixed.find("learning_rate")->number, 0.1);
}

TEST(Settings, BaselineRunsAtTheTopAreAnErrorThatSaysWhereTheyBelong) {
  const Read made = read(R"({"baseline_runs": 2, "experiments": [
    {"repo": "plain", "model": "default"}]})");
  EXPECT_EQ(made.errors, 1);
  EXPECT_THAT(made.problems, HasSubstr("s.json:1: error: baseline_runs is not allowed here: "
                                       "put it into an entry"));
}

TEST(Settings, AnExpectedMetricNeedsAPattern) {
  const Read made = read(R"({"expect": {"metrics": ["losss"]}, "experiments": [
    {"repo": "examples", "model": "mnist"},
    {"repo": "examples", "model": "mnist", "expect": {"metrics": ["loss"]}}]})");
  EXPECT_EQ(made.errors, 1) << made.problems;
  EXPECT_THAT(made.problems, HasSubstr("s.json:2: error: examples: expect: log_patterns has no "
                                       "pattern for the metric losss; did you mean loss?"));
}

TEST(Settings, FormulasAreAnError) {
  EXPECT_THAT(read(R"({"experiments": [{"repo": "examples", "model": "mnist",
                       "mutation_strategy": "x*2"}]})")
                  .problems,
              HasSubstr("error: mutation_strategy is not supported"));
}

TEST(Settings, AnEntryOfNothingButACommentIsAHeadline) {
  const Read made = read(R"({"experiments": [{"comment": "=== part one ==="},
                            {"repo": "plain", "model": "default"}]})");
  EXPECT_EQ(made.problems, "");
  EXPECT_EQ(made.notes, 1);
  EXPECT_EQ(made.settings.entries.size(), 1);
}

TEST(Settings, ReportsReposModelsAndParametersThatDoNotExistAllAtOnce) {
  const Read made = read(R"({"experiments": [
    {"repo": "exampels", "model": "mnist"},
    {"repo": "examples", "model": "mnits"},
    {"repo": "examples", "model": "mnist", "mutate": ["epoch"]},
    {"repo": "examples", "model": "mnist", "mode": "default", "hyperparameters": {"epochs": 1.5}}]})");
  EXPECT_EQ(made.errors, 4);
  EXPECT_THAT(made.problems, HasSubstr("s.json:2: error: there is no repo exampels"));
  EXPECT_THAT(made.problems, HasSubstr("did you mean examples?"));
  EXPECT_THAT(made.problems, HasSubstr("s.json:3: error: examples has no model mnits"));
  EXPECT_THAT(made.problems, HasSubstr("s.json:4"));
  EXPECT_THAT(made.problems, HasSubstr("epochs is 1.5; it must be a 64-bit int"));
}

TEST(Settings, TermsOfTheEntryWinOverThoseOfTheTop) {
  const Read made = read(R"({"timeout": "2h", "memory": "8G", "experiments": [
    {"repo": "plain", "model": "default", "timeout": 60, "shrink": {"width": 0.5, "min": 1},
     "expect": {"min_duration": "5s"}, "retry_on": ["timed_out"]}]})");
  EXPECT_EQ(made.problems, "");
  const Terms& terms = made.settings.entries.at(0).terms;
  EXPECT_EQ(terms.timeout_seconds, 60);
  EXPECT_EQ(terms.memory_bytes, uint64_t{8} << 30);
  EXPECT_EQ(terms.shrink->parameter, "width");
  EXPECT_EQ(terms.expect->least_seconds, 5);
}

TEST(Settings, RefuseAMemoryLimitThatNoProgramCanWorkIn) {
  const Read made = read(R"({"memory": "8", "experiments": [
    {"repo": "plain", "model": "default", "gpu_free": 4096}]})");
  EXPECT_EQ(made.errors, 2);
  EXPECT_THAT(made.problems,
              HasSubstr("memory is 8 B, less than any program needs; write it like \"8G\""));
  EXPECT_THAT(made.problems, HasSubstr("s.json:2: error: gpu_free is 4.0 KiB, less than"));
}

TEST(Settings, CountsWhatEachEntryProducesAndTheTotal) {
  const Read made = read(R"({"experiments": [
    {"repo": "plain", "model": "default", "runs_per_config": 2},
    {"repo": "examples", "model": "ff", "runs_per_config": 3}]})");
  Problems problems;
  const auto queue = make_queue(made.settings, example_catalog(), {}, 1, problems);
  EXPECT_THAT(describe_plan(made.settings, queue), HasSubstr("5  experiments in all"));
}

TEST(Settings, TheOldCommandLineMakesOneEntry) {
  Problems problems;
  const Settings settings = settings_of(
      {.repository = "examples", .model = "mnist", .mutate = "epochs,learning_rate", .runs = 5},
      example_catalog(), problems);
  EXPECT_EQ(all_of(problems), "");
  EXPECT_THAT(settings.entries.at(0).foreground.mutate, ElementsAre("epochs", "learning_rate"));
  EXPECT_EQ(settings.entries.at(0).runs, 5);
}

// An entry of the repository examples, with these keys.
Read entry(const std::string& keys, const std::string& top = "") {
  return read("{" + top + R"("experiments": [{"repo": "examples", "model": "mnist", )" + keys +
              "}]}");
}

TEST(Settings, KeysThatChangeNothingAreNamedOnceEach) {
  for (const auto& [keys, text] :
       {std::pair{R"("mode": "default", "mutate": ["epochs"])",
                  "mutate has no effect in mode default"},
        {R"("mode": "default", "exclude": {"epochs": 5})", "exclude has no effect in mode default"},
        {R"("mode": "default", "mutate_params": ["epochs"])",
         "mutate_params has no effect in mode"}}) {
    const Read made = entry(keys);
    EXPECT_EQ(made.errors, 0) << made.problems;
    EXPECT_THAT(made.problems, HasSubstr(text)) << keys;
  }
  EXPECT_EQ(entry(R"("mode": "default", "mutate": [], "exclude": [])").problems, "");
  const Read top = entry(R"("mutate": ["epochs"])", R"("mode": "default", )");
  EXPECT_THAT(top.problems, HasSubstr("mutate has no effect in mode default"));
  EXPECT_EQ(read(R"({"experiments": [{"repo": "examples", "model": "mnist", "mode": "default",
                      "mutate": ["epochs"]}]})",
                 KeyPolicy::strict)
                .errors,
            1);
}

Read parallel(const std::string& keys, const std::string& front, const std::string& back) {
  return read(R"({"experiments": [{"mode": "parallel", )" + keys +
              R"("foreground": {"repo": "examples", "model": "ff")" + front +
              R"(}, "background": {"repo": "plain", "model": "default")" + back + "}}]}");
}

TEST(Settings, ABackgroundHasOneSetting) {
  for (const char* key : {"mutate", "mutate_params", "grid", "choices", "list", "exclude"}) {
    const bool names = std::string(key).starts_with("mutate");
    const Read made = parallel(
        "", R"(, "mutate": ["epochs"])",
        fmt::format(R"(, "{}": {})", key, names ? R"(["width"])" : R"({"width": [1, 2]})"));
    EXPECT_THAT(made.problems, HasSubstr(std::string(key) + " has no effect for a background"))
        << key;
  }
}

TEST(Settings, ATypeThatContradictsTheModeOfTheForegroundIsNamed) {
  const char* front = R"(, "mode": "mutation", "mutate": ["epochs"])";
  EXPECT_THAT(
      parallel(R"("mutation_type": "default", )", front, "").problems,
      HasSubstr("mutation_type default has no effect: the mode of the foreground is mutation"));
  EXPECT_EQ(parallel(R"("mutation_type": "mutation", )", front, "").problems, "");
  EXPECT_EQ(parallel(R"("mutation_type": "parallel", )", front, "").problems, "");
}

TEST(Settings, ManyDisagreeingEntriesAreOneMessage) {
  std::string entries;
  for (int i = 0; i < 40; ++i) {
    entries += fmt::format(R"({}{{"mode": "parallel", "model": "mnist",
      "foreground": {{"repo": "examples", "model": "ff", "mutate": ["epochs"]}},
      "background": {{"repo": "plain", "model": "default"}}}})",
                           i == 0 ? "" : ",\n");
  }
  Problems problems;
  read_settings(R"({"experiments": [)" + entries + "]}", "s.json", example_catalog(), problems);
  EXPECT_EQ(problems.errors(), 40);
  EXPECT_EQ(problems.grouped().size(), 1);
}

TEST(Settings, NamesBesideAForegroundMayHaveAnotherOrder) {
  EXPECT_EQ(parallel(R"("mutate": ["seed", "epochs"], )", R"(, "mutate": ["epochs", "seed"])", "")
                .problems,
            "");
  EXPECT_EQ(parallel(R"("mutate": "epochs", )", R"(, "mutate": ["epochs"])", "").problems, "");
  EXPECT_THAT(parallel(R"("mutate": ["seed"], )", R"(, "mutate": ["epochs", "seed"])", "").problems,
              HasSubstr("mutate differs from that of the foreground"));
}

TEST(Settings, OneNameToMutateNeedsNoList) {
  for (const char* key : {"mutate", "mutate_params"}) {
    const auto names = [&](const std::string& value) {
      const Read made = entry(fmt::format(R"("{}": {})", key, value));
      EXPECT_EQ(made.errors, 0) << made.problems;
      return made.settings.entries.at(0).foreground.mutate;
    };
    EXPECT_THAT(names(R"("epochs")"), ElementsAre("epochs"));
    EXPECT_THAT(names(R"("all")"), ElementsAre("epochs", "learning_rate", "seed"));
    EXPECT_THAT(entry(fmt::format(R"("{}": {{"epochs": 1}})", key)).problems,
                HasSubstr(std::string(key) + " is an object; it must be a string or a list"));
    EXPECT_THAT(entry(fmt::format(R"("{}": [1])", key)).problems,
                HasSubstr("must contain strings"));
  }
}

TEST(Settings, OldKeysOfAnotherTypeAreErrors) {
  for (const auto& [keys, text] :
       {std::pair{R"("fixed_hyperparams": [1])",
                  "fixed_hyperparams is a list; it must be an object"},
        {R"("fixed_hyperparams": "seed")", "fixed_hyperparams is a string; it must be an object"},
        {R"("mutation_type": 3)", "mutation_type is a number; it must be a string"}}) {
    const Read made = entry(keys);
    EXPECT_THAT(made.problems, HasSubstr(text));
    EXPECT_EQ(made.errors, 1) << made.problems;
  }
  for (const auto& [keys, text] :
       {std::pair{R"("global_settings": [])", "global_settings is a list; it must be an object"},
        {R"("session_name": 5)", "session_name is a number; it must be a string"},
        {R"("base_results_dir": 5)", "base_results_dir is a number; it must be a string"},
        {R"("deduplication": "yes")",
         "deduplication is a string; it must be true, false, or an object"},
        {R"("deduplication": {"enable": true})",
         "unknown key enable in deduplication; did you mean enabled?"},
        {R"("deduplication": {"enabled": "yes"})", "enabled is a string"}}) {
    const Read made = entry(R"("mode": "default")", std::string(keys) + ", ");
    EXPECT_THAT(made.problems, HasSubstr(text));
    EXPECT_EQ(made.errors, 1) << made.problems;
  }
  const Read repository = read(R"({"experiments": [{"repository": 5, "model": "mnist"}]})");
  EXPECT_THAT(repository.problems, HasSubstr("repository is a number; it must be a string"));
  EXPECT_EQ(repository.errors, 1) << repository.problems;
}

TEST(Settings, TheOldDeduplicationMayNameTheTables) {
  const Read made = entry(R"("mode": "default")",
                          R"("deduplication": {"enabled": true, "historical_csvs": ["a.csv"]}, )");
  EXPECT_EQ(made.errors, 0) << made.problems;
  EXPECT_TRUE(made.settings.deduplicate);
  EXPECT_THAT(made.settings.history, ElementsAre("a.csv"));
}

TEST(Settings, NullIsTheSameAsAMissingKey) {
  const Read made = read(R"({"governor": null, "timeout": null, "max_retries": null,
    "historical_csvs": null, "use_deduplication": null, "runs_per_config": null, "order": null,
    "session_name": null, "deduplication": null, "experiments": [
     {"repo": "examples", "repository": null, "model": "mnist", "mode": null, "hyperparameters": null,
      "mutate": null, "mutate_params": null, "runs_per_config": null, "list": null, "grid": null,
      "exclude": null}]})");
  EXPECT_EQ(made.problems, "");
  EXPECT_EQ(made.settings.max_retries, 2);
  EXPECT_EQ(made.settings.entries.at(0).runs, 1);
  EXPECT_EQ(made.settings.entries.at(0).foreground.design.kind, Design::Kind::draws);
  EXPECT_THAT(read(R"({"experiments": null})").problems, HasSubstr("has no list `experiments`"));
}

TEST(Settings, ANumberInQuotesIsCalledAString) {
  EXPECT_THAT(entry(R"("mode": "default", "hyperparameters": {"learning_rate": "0.01"})").problems,
              HasSubstr("learning_rate is the string \"0.01\"; it must be a number"));
  EXPECT_THAT(entry(R"("grid": {"learning_rate": ["0.01"]})").problems,
              HasSubstr("learning_rate is the string \"0.01\"; it must be a number"));
}

TEST(Settings, AMisspelledBoundOfAConditionIsAnError) {
  const Read made = entry(R"("mutate": ["epochs"], "exclude": {"epochs": {"min": 3, "mx": 4}})");
  EXPECT_EQ(made.errors, 1);
  EXPECT_THAT(made.problems, HasSubstr("epochs: a condition has min and max, not mx"));
}

TEST(Settings, RunsOfADefaultEntryAreItsRepeatsInsteadOfThoseOfTheTop) {
  const Read made = entry(R"("mode": "default", "runs_per_config": 4)", R"("repeats": 3, )");
  EXPECT_EQ(made.settings.entries.at(0).runs, 1);
  EXPECT_EQ(made.settings.entries.at(0).repeats, 4);
}

}  // namespace
}  // namespace plimsoll::experiment
