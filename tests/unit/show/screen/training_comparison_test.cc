#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "learn/launch/made_results.h"
#include "recipe/recipe.h"
#include "screen/screen.h"
#include "temp_folder.h"

namespace plimsoll::screen {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A training of one epoch with this model, seed and accuracy.
void write_training(const fs::path& folder, recipe::ModelKind model, uint64_t seed, double accuracy,
                    const char* status = "finished") {
  recipe::Recipe recipe;
  recipe.model = model;
  recipe.seed = seed;
  nlohmann::ordered_json json = launch::made_results(recipe);
  json["status"] = status;
  json["valid_acc"] = accuracy;
  json["test_acc"] = accuracy;
  json["series"].push_back({{"epoch", 1}, {"loss", 0.5}, {"valid_acc", accuracy}, {"seconds", 3}});
  fs::create_directories(folder);
  write_file(folder / "results.json", json.dump());
}

TEST(TrainingComparison, NamesWhatDiffersInTheRecipes) {
  const TempFolder folder;
  write_training(folder / "a", recipe::ModelKind::gcn, 1, 0.5);
  write_training(folder / "b", recipe::ModelKind::sage, 2, 0.75);
  const auto json = comparison_json({.a = folder / "a", .b = folder / "b"});
  EXPECT_EQ(json.at("recipe").at("model").at("a"), "gcn");
  EXPECT_EQ(json.at("recipe").at("model").at("b"), "sage");
  EXPECT_EQ(json.at("recipe").size(), 2U);  // model and seed
  EXPECT_EQ(json.at("curves_b").at(0).at("series").at(0).at("valid_acc"), 0.75);
}

TEST(TrainingComparison, DoesNotCountTheSeedIfThereAreSeveral) {
  const TempFolder folder;
  for (const uint64_t seed : {1U, 2U, 3U}) {
    const std::string name = "seed_" + std::to_string(seed);
    write_training(folder / "a" / name, recipe::ModelKind::gcn, seed, 0.5);
    write_training(folder / "b" / name, recipe::ModelKind::gcn, seed + 3, 0.75);
  }
  const auto json = comparison_json({.a = folder / "a", .b = folder / "b"});
  EXPECT_TRUE(json.at("recipe").empty());
  EXPECT_EQ(json.at("curves_a").size(), 3U);
}

std::string printed(const auto& print_it) {
  testing::internal::CaptureStdout();
  print_it();
  return testing::internal::GetCapturedStdout();
}

TEST(TrainingComparison, CountsOnlySeedsThatEnded) {
  const TempFolder folder;
  for (const char* side : {"a", "b"}) {
    write_training(folder / side / "seed_1", recipe::ModelKind::gcn, 1, 0.5);
    write_training(folder / side / "seed_2", recipe::ModelKind::gcn, 2, 0.6, "early stopped");
  }
  write_training(folder / "a" / "seed_3", recipe::ModelKind::gcn, 3, 0.1, "stopped");
  fs::create_directories(folder / "a" / "seed_4");
  write_file(folder / "a" / "seed_4" / "last.pth", "");
  const ComparedTrainings folders{.a = folder / "a", .b = folder / "b"};
  const auto json = comparison_json(folders);
  for (const auto& row : json.at("comparisons")) EXPECT_EQ(row.at("of_a").at("n"), 2) << row;
  EXPECT_EQ(json.at("left_out").at("a"), 2);
  const std::string text = printed([&] { print_comparison(folders); });
  EXPECT_THAT(text, HasSubstr("4 seeds: 1 finished after 1 epoch, 1 early stopped after 1 epoch, 1 "
                              "stopped after 1 epoch, 1 without results yet\n"));
  EXPECT_THAT(text, HasSubstr("A: 2 of 4 seeds not finished, left out\n"));
  EXPECT_THAT(printed([&] { print_training(folder / "a"); }),
              testing::AllOf(HasSubstr("over 2 seeds\n2 of 4 seeds not finished, left out"),
                             HasSubstr("test accuracy       0.550 ± 0.071 (n 2)")));
}

TEST(TrainingComparison, OfSeedsThatDidNotEndHasNoTest) {
  const TempFolder folder;
  for (const uint64_t seed : {1U, 2U}) {
    const std::string name = "seed_" + std::to_string(seed);
    write_training(folder / "a" / name, recipe::ModelKind::gcn, seed, 0.5, "stopped");
    write_training(folder / "b" / name, recipe::ModelKind::gcn, seed, 0.5);
  }
  EXPECT_THAT(printed([&] { print_comparison({.a = folder / "a", .b = folder / "b"}); }),
              HasSubstr("test accuracy, A and B: no test, A has no finished seed\n"));
}

TEST(TrainingComparison, RefusesSeedsOfDifferentRecipes) {
  const TempFolder folder;
  write_training(folder / "a" / "seed_1", recipe::ModelKind::gcn, 1, 0.5);
  write_training(folder / "a" / "seed_2", recipe::ModelKind::sage, 2, 0.5);
  write_training(folder / "b", recipe::ModelKind::gcn, 1, 0.5);
  for (const auto& [a, b] : {std::pair{"a", "b"}, {"b", "a"}}) {
    try {
      comparison_json({.a = folder / a, .b = folder / b});
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_THAT(error.what(), HasSubstr("model sage instead of gcn"));
    }
  }
}

TEST(TrainingComparison, RefusesATrainingThatIsOnBothSides) {
  const TempFolder folder;
  write_training(folder / "a" / "seed_1", recipe::ModelKind::gcn, 1, 0.5);
  write_training(folder / "a" / "seed_2", recipe::ModelKind::gcn, 2, 0.5);
  try {
    comparison_json({.a = folder / "a", .b = folder / "a" / "seed_2"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr("have a training in common"));
  }
}

TEST(TrainingComparison, SubtractsUnderTheHeadingOfADifference) {
  const TempFolder folder;
  write_training(folder / "a", recipe::ModelKind::gcn, 1, 0.5);
  write_training(folder / "b", recipe::ModelKind::gcn, 1, 0.75);
  const std::string text =
      printed([&] { print_comparison({.a = folder / "a", .b = folder / "b"}); });
  EXPECT_THAT(text, testing::ContainsRegex("B - A +change\n"));
  EXPECT_THAT(text, testing::ContainsRegex("test accuracy .*\\+0.2500 +-\n"));
  EXPECT_THAT(text, testing::ContainsRegex("time .s. .* \\+0 +0 %\n"));
}

TEST(TrainingView, DividesSeedsOfDifferentRecipes) {
  const TempFolder folder;
  for (const uint64_t seed : {1U, 2U}) {
    write_training(folder / ("seed_" + std::to_string(seed)), recipe::ModelKind::gcn, seed, 0.5);
    write_training(folder / ("seed_1" + std::to_string(seed)), recipe::ModelKind::sage, seed + 10,
                   0.7);
  }
  const std::string text = printed([&] { print_training(folder.path()); });
  EXPECT_THAT(text, HasSubstr("mixes 2 trainings that differ in more than their seed"));
  EXPECT_THAT(text, HasSubstr("model sage instead of gcn"));
  EXPECT_THAT(text, HasSubstr("test accuracy       0.5 ± 0 (n 2)"));
  EXPECT_THAT(text, HasSubstr("test accuracy       0.7 ± 0 (n 2)"));
}

TEST(TrainingComparison, RefusesAFolderWithoutResults) {
  const TempFolder folder;
  write_training(folder / "a", recipe::ModelKind::gcn, 1, 0.5);
  EXPECT_THROW(comparison_json({.a = folder / "a", .b = folder / "none"}), Error);
}

TEST(TrainingView, TellsATrainingFromABatch) {
  const TempFolder folder;
  EXPECT_FALSE(is_training_folder(folder.path()));
  write_training(folder.path(), recipe::ModelKind::gcn, 1, 0.5);
  EXPECT_TRUE(is_training_folder(folder.path()));
  write_file(folder / "journal.sqlite", "");
  EXPECT_FALSE(is_training_folder(folder.path()));
}

TEST(TrainingComparison, ShowsEpochsThatWereEvaluated) {
  const TempFolder folder;
  for (const char* side : {"a", "b"}) {
    recipe::Recipe recipe;
    nlohmann::ordered_json json = launch::made_results(recipe);
    json["status"] = "finished";
    for (int epoch = 1; epoch <= 30; ++epoch) {
      json["series"].push_back({{"epoch", epoch}, {"loss", 0.5}, {"seconds", 3}});
      if (epoch % 10 == 0) json["series"].back()["valid_acc"] = 0.01 * epoch;
    }
    fs::create_directories(folder / side);
    write_file(folder / side / "results.json", json.dump());
  }
  const std::string text =
      printed([&] { print_comparison({.a = folder / "a", .b = folder / "b"}); });
  for (const char* accuracy : {"0.1000", "0.2000", "0.3000"})
    EXPECT_THAT(text, HasSubstr(accuracy));
  const std::string curves = text.substr(text.find("epoch  loss"));
  EXPECT_EQ(std::count(curves.begin(), curves.end(), '\n'), 5) << curves;
}

}  // namespace
}  // namespace plimsoll::screen
