#include "launch/seed_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "launch/made_results.h"
#include "launch/training_record.h"
#include "temp_folder.h"

namespace plimsoll::launch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SeedRunsTest : public testing::Test {
 protected:
  // A finished training with this seed.
  void train(uint64_t seed, const recipe::Recipe& base = {}) const {
    recipe::Recipe recipe = base;
    recipe.seed = seed;
    const fs::path folder = seed_folder(folder_.path(), seed);
    fs::create_directories(folder);
    write_file(folder / "results.json", made_results(recipe).dump());
    write_file(folder / "last.pth", "");
  }

  SeedsOptions asked(uint64_t first, uint64_t count) const {
    return {.first = first, .count = count, .folder = folder_.path()};
  }

  // What it refuses; empty if nothing.
  static std::string refused(const SeedsOptions& options, ErrorKind kind = ErrorKind::exists) {
    try {
      check_same_training(options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
      return error.what();
    }
    return "";
  }

  TempFolder folder_;
};

TEST_F(SeedRunsTest, AcceptOtherSeedsOfTheSameRecipe) {
  EXPECT_EQ(refused(asked(0, 2)), "");
  train(0);
  train(1);
  EXPECT_EQ(refused(asked(10, 2)), "");
}

TEST_F(SeedRunsTest, RefuseOtherSeedsOfAnotherRecipe) {
  train(0);
  SeedsOptions options = asked(10, 2);
  options.recipe.model = recipe::ModelKind::sage;
  options.recipe.epochs = 1;
  const std::string text = refused(options);
  EXPECT_THAT(text, HasSubstr("seed_0 is of another training: model gcn instead of sage, epochs "
                              "100 instead of 1"));
  options.resume = true;
  EXPECT_EQ(refused(options), text) << "a new seed beside those that have begun";
  options.force = true;
  EXPECT_EQ(refused(options), "") << "the other seeds are deleted";
}

TEST_F(SeedRunsTest, RefuseABegunSeedOfAnotherRecipe) {
  fs::create_directories(folder_ / "seed_0");
  write_file(folder_ / "seed_0" / "last.pth", "");
  const nlohmann::json diary = {{"dataset", "cora"},
                                {"recipe", recipe::to_json(recipe::Recipe())},
                                {"status", "running"},
                                {"started", 1},
                                {"updated", 2},
                                {"resumed", false},
                                {"machine", nlohmann::json::object()},
                                {"store", nlohmann::json::object()},
                                {"planned_parts", nlohmann::json::array()},
                                {"series", nlohmann::json::array()},
                                {"memory", {{"tags", {"rows"}}, {"samples", {{0, 1, 2}}}}}};
  write_file(folder_ / "seed_0" / "diary.json", diary.dump());
  SeedsOptions options = asked(10, 2);
  EXPECT_EQ(refused(options), "");
  options.recipe.hidden = 7;
  EXPECT_THAT(refused(options), HasSubstr("hidden 256 instead of 7"));
}

TEST_F(SeedRunsTest, ContinueWithTheRecipeThatWasStored) {
  recipe::Recipe small;
  small.hidden = 8;
  train(0, small);
  SeedsOptions options = asked(0, 1);
  options.resume = true;
  EXPECT_EQ(refused(options), "") << "no seed is new";
  options.count = 2;
  EXPECT_THAT(refused(options), HasSubstr("hidden 8 instead of 256")) << "seed 1 would be another";
  options.recipe.hidden = 8;
  options.given = {"hidden", "seed"};
  EXPECT_EQ(refused(options), "");
  options.recipe.epochs = 7;
  options.given.insert("epochs");
  EXPECT_EQ(refused(options), "") << "seed 0 gets as many epochs";
  options.recipe.hidden = 16;
  EXPECT_THAT(refused(options, ErrorKind::usage), HasSubstr("seed_0: "));
}

}  // namespace
}  // namespace plimsoll::launch
