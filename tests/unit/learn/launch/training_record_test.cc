#include "launch/training_record.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "temp_folder.h"

namespace plimsoll::launch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

// results.json of a training of two epochs, of which the first was evaluated.
std::string results_text() {
  recipe::Recipe recipe;
  recipe.model = recipe::ModelKind::sage;
  recipe.seed = 4;
  const nlohmann::ordered_json json = {
      {"dataset", "cora"},
      {"status", "finished"},
      {"device", "cpu"},
      {"timestamp", "2026-11-15T08:15:00+00:00"},
      {"num_params", 10},
      {"best_epoch", 1},
      {"train_acc", nullptr},
      {"valid_acc", 0.5},
      {"test_acc", 0.25},
      {"training_time", 3.5},
      {"peak_memory_bytes", 1000},
      {"recipe", recipe::to_json(recipe)},
      {"series", {{{"epoch", 1}, {"loss", nullptr}, {"valid_acc", 0.5}}, {{"epoch", 2}}}}};
  return json.dump();
}

class TrainingRecordTest : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((folder_ / file).parent_path());
    write_file(folder_ / file, text);
  }
  TempFolder folder_;
};

TEST_F(TrainingRecordTest, HasWhatResultsJsonSays) {
  write("results.json", results_text());
  const TrainingRecord record = read_training(folder_.path());
  EXPECT_EQ(record.recipe.model, recipe::ModelKind::sage);
  EXPECT_EQ(record.recipe.seed, 4U);
  EXPECT_EQ(record.test_accuracy, 0.25);
  EXPECT_FALSE(record.train_accuracy);
  ASSERT_EQ(record.series.size(), 2U);
  EXPECT_FALSE(record.series[0].loss);
  EXPECT_EQ(record.series[0].valid_accuracy, 0.5);
}

TEST_F(TrainingRecordTest, OfSomethingElseIsAnErrorThatNamesTheFile) {
  EXPECT_THROW(read_training(folder_.path()), Error);
  for (const char* text : {"", "[1]", "{\"dataset\": 3}", "{\"dataset\": \"cora\"}"}) {
    write("results.json", text);
    try {
      read_training(folder_.path());
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      EXPECT_THAT(error.what(), testing::HasSubstr("results.json"));
    }
  }
}

TEST_F(TrainingRecordTest, FindsSeedsByTheirNumber) {
  EXPECT_TRUE(training_folders(folder_.path()).empty());
  EXPECT_TRUE(training_folders(folder_ / "nowhere").empty());
  for (const char* name : {"seed_10", "seed_9", "seed_x", "other"}) {
    write(std::string(name) + "/results.json", results_text());
  }
  fs::create_directories(folder_ / "seed_3");
  EXPECT_THAT(training_folders(folder_.path()),
              ElementsAre(folder_ / "seed_9", folder_ / "seed_10"));
  EXPECT_THAT(training_folders(folder_ / "seed_9"), ElementsAre(folder_ / "seed_9"));
}

TEST_F(TrainingRecordTest, KnowsWhetherATrainingRuns) {
  write("last.pth", "");
  EXPECT_TRUE(has_only_checkpoint(folder_.path()));
  EXPECT_FALSE(is_training_now(folder_.path()));
  const int lock = open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  EXPECT_TRUE(is_training_now(folder_.path()));
  close(lock);
}

}  // namespace
}  // namespace plimsoll::launch
