#include "experiment/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiment/example_files.h"
#include "temp_folder.h"

namespace plimsoll::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Catalog, ReadsTheFormatInUse) {
  Problems problems;
  const Catalog catalog = read_catalog(kModels, "models.json", problems);
  EXPECT_EQ(all_of(problems), "");
  const Repository& examples = *catalog.find("examples");
  EXPECT_THAT(examples.models, ElementsAre("mnist", "ff"));
  EXPECT_TRUE(examples.find("learning_rate")->log_uniform);
  EXPECT_FALSE(examples.find("seed")->default_value);
  EXPECT_EQ(examples.metrics.at(0).name, "loss");
}

TEST(Catalog, BuildsTheCommandInTheConfigsOrderWithTheShortestNumbers) {
  const Catalog catalog = example_catalog();
  Values values;
  values.set("learning_rate", {.number = 3e-5});
  values.set("epochs", {.number = 12, .whole = true});
  EXPECT_THAT(
      training_command(*catalog.find("examples"), "mnist", values),
      ElementsAre("./train.sh", "-n", "mnist", "-d", "two words", "-e", "12", "--lr", "3e-05"));
  EXPECT_THAT(training_command(*catalog.find("plain"), "default", {}),
              ElementsAre("python", "train.py"));
}

TEST(Catalog, ReportsEverythingThatIsWrongAtOnceWithItsLine) {
  Problems problems;
  read_catalog(R"({"models": {"a": {
    "path": "p", "train_scrip": "./t.sh",
    "supported_hyperparams": {
      "x": {"flag": "-x", "type": "integer", "range": [5, 1]},
      "y": {"flag": "-y", "type": "int", "range": [0.5, 2], "distribution": "log_uniform"}},
    "performance_metrics": {"log_patterns": {"acc": "acc: ([0-9.+"}}}}})",
               "m.json", problems);
  const std::string text = all_of(problems);
  EXPECT_THAT(text, HasSubstr("m.json:2: error: unknown key train_scrip in the model config of a; "
                              "did you mean train_script?"));
  EXPECT_THAT(text, HasSubstr("m.json:4: error: x: type is 'integer'"));
  EXPECT_THAT(text, HasSubstr("m.json:4: error: x: range [5, 1] is empty"));
  EXPECT_THAT(text,
              HasSubstr("m.json:5: error: y: the range of an int must be 64-bit whole numbers"));
  EXPECT_THAT(text,
              HasSubstr("m.json:6: error: the pattern of acc is not a valid regular expression"));
}

TEST(Catalog, APatternWithLookaroundIsAnErrorThatNamesItAndWhatToWrite) {
  Problems problems;
  read_catalog(R"json({"models": {"a": {"path": "p", "train_script": "t",
    "performance_metrics": {"log_patterns": {"acc": "(?<=acc: )([0-9.]+)"}}}}})json",
               "m.json", problems);
  EXPECT_THAT(all_of(problems),
              HasSubstr("m.json:2: error: the pattern of acc has a lookbehind, (?<=...), which is "
                        "not supported; write the text around the number into the pattern"));
  EXPECT_THAT(all_of(problems), HasSubstr("'(?<=acc: )([0-9.]+)'"));
}

TEST(Catalog, KeepsAllDigitsOfDefaultsAndRanges) {
  Problems problems;
  const Catalog catalog = read_catalog(
      R"({"models": {"a": {"path": "p", "train_script": "t", "supported_hyperparams": {
        "seed": {"flag": "-s", "type": "int", "default": 9007199254740993,
                 "range": [9007199254740993, 18446744073709551615]}}}}})",
      "m.json", problems);
  EXPECT_EQ(all_of(problems), "");
  const Hyperparameter& seed = *catalog.repositories.at(0).find("seed");
  EXPECT_EQ(text_of(*seed.default_value), "9007199254740993");
  EXPECT_EQ(text_of(seed.high), "18446744073709551615");
  EXPECT_THAT(
      training_command(catalog.repositories[0], "default", catalog.repositories[0].defaults()),
      ElementsAre("t", "-s", "9007199254740993"));
}

TEST(Catalog, SaysWhereAFileIsNoJson) {
  Problems problems;
  expect_error(ErrorKind::input, {"m.json:3", "not JSON"},
               [&] { read_catalog("{\n\"models\": {},\n oops}", "m.json", problems); });
}

}  // namespace
}  // namespace plimsoll::experiment
