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

  TrainRequest asked(uint64_t first) const {
    TrainRequest request;
    request.recipe.seed = first;
    request.save_dir = folder_.path();
    return request;
  }

  // The same, to continue the seeds that have begun.
  TrainRequest continued(TrainRequest request) const {
    request.resume = request.save_dir;
    return request;
  }

  // What it refuses; empty if nothing.
  static std::string refused(const TrainRequest& request, uint64_t count = 2,
                             ErrorKind kind = ErrorKind::exists) {
    try {
      check_same_training(request, count);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
      return error.what();
    }
    return "";
  }

  TempFolder folder_;
};

TEST_F(SeedRunsTest, AcceptOtherSeedsOfTheSameRecipe) {
  EXPECT_EQ(refused(asked(0)), "");
  train(0);
  train(1);
  EXPECT_EQ(refused(asked(10)), "");
}

TEST_F(SeedRunsTest, RefuseOtherSeedsOfAnotherRecipe) {
  train(0);
  TrainRequest request = asked(10);
  request.recipe.model = recipe::ModelKind::sage;
  request.recipe.epochs = 1;
  const std::string text = refused(request);
  EXPECT_THAT(text, HasSubstr("seed_0 is of another training: model gcn instead of sage, epochs "
                              "100 instead of 1"));
  request = continued(request);
  EXPECT_EQ(refused(request), text) << "a new seed beside those that have begun";
  request.force = true;
  EXPECT_EQ(refused(request), "") << "the other seeds are deleted";
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
  TrainRequest request = asked(10);
  EXPECT_EQ(refused(request), "");
  request.recipe.hidden = 7;
  EXPECT_THAT(refused(request), HasSubstr("hidden 256 instead of 7"));
}

TEST_F(SeedRunsTest, ContinueWithTheRecipeThatWasStored) {
  recipe::Recipe small;
  small.hidden = 8;
  train(0, small);
  TrainRequest request = continued(asked(0));
  EXPECT_EQ(refused(request, 1), "") << "no seed is new";
  EXPECT_THAT(refused(request), HasSubstr("hidden 8 instead of 256")) << "seed 1 would be another";
  request.recipe.hidden = 8;
  request.given = {recipe::RecipeField::hidden, recipe::RecipeField::seed};
  EXPECT_EQ(refused(request), "");
  request.recipe.epochs = 7;
  request.given.insert(recipe::RecipeField::epochs);
  EXPECT_EQ(refused(request), "") << "seed 0 gets as many epochs";
  request.recipe.hidden = 16;
  EXPECT_THAT(refused(request, 2, ErrorKind::usage), HasSubstr("seed_0: "));
}

}  // namespace
}  // namespace plimsoll::launch
