#include "screen/training_comparison.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "learn/launch/made_results.h"
#include "recipe/recipe.h"
#include "screen/training_view.h"
#include "temp_folder.h"

namespace plimsoll::screen {
namespace {

namespace fs = std::filesystem;

// A training of one epoch with this model, seed and accuracy.
void write_training(const fs::path& folder, recipe::ModelKind model, uint64_t seed,
                    double accuracy) {
  recipe::Recipe recipe;
  recipe.model = model;
  recipe.seed = seed;
  nlohmann::ordered_json json = launch::made_results(recipe);
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

}  // namespace
}  // namespace plimsoll::screen
