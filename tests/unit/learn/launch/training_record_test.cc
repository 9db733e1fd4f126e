#include "launch/training_record.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "launch/made_results.h"
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
  nlohmann::ordered_json json = made_results(recipe);
  json["series"] = {{{"epoch", 1}, {"loss", nullptr}, {"valid_acc", 0.5}}, {{"epoch", 2}}};
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

// A GPU that reads rows from disk does not count the rows that its batches need, nor its stages.
TEST_F(TrainingRecordTest, LeavesUnmeasuredValuesOut) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(results_text());
  json["disk"] = {{"method", "io_uring"}, {"reads", 3},      {"bytes", 12288},
                  {"seconds", 0.5},       {"rows", nullptr}, {"rows_on_disk", 40}};
  json["stage_milliseconds"] = {{"sample", nullptr}, {"gather", nullptr}, {"waiting", 2.5}};
  write("results.json", json.dump());
  const TrainingRecord record = read_training(folder_.path());
  EXPECT_FALSE(record.disk.rows);
  EXPECT_EQ(record.disk.rows_on_disk, 40U);
  ASSERT_TRUE(record.stages);
  EXPECT_FALSE(record.stages->sample);
  EXPECT_EQ(record.stages->waiting, 2.5);
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

TEST_F(TrainingRecordTest, DiffersInDataAndRecipeButNotInItsSeed) {
  write("results.json", results_text());
  const TrainingRecord one = read_training(folder_.path());
  TrainingRecord other = one;
  other.recipe.seed = 9;
  EXPECT_TRUE(differences_between(one, other).empty());
  other.recipe.hidden = 3;
  EXPECT_EQ(describe(differences_between(one, other)), "hidden 256 instead of 3");
  EXPECT_EQ(by_recipe({one, other, one}).size(), 2U);
  other = one;
  other.dataset = "other";
  EXPECT_EQ(describe(differences_between(one, other)), "data set cora instead of other");
  other = one;
  other.store_checksum = "12";
  EXPECT_TRUE(differences_between(one, other).empty()) << "one of an older version has none";
  TrainingRecord changed = other;
  changed.store_checksum = "34";
  EXPECT_EQ(describe(differences_between(other, changed)),
            "data set checksum 12 instead of checksum 34");
}

TEST_F(TrainingRecordTest, CountsWhenItEnded) {
  std::vector<TrainingRecord> all(4);
  all[0].status = recipe::TrainingStatus::finished;
  all[1].status = recipe::TrainingStatus::early_stopped;
  all[2].status = recipe::TrainingStatus::stopped;
  all[3].status = recipe::TrainingStatus::running;
  EXPECT_EQ(ended_of(all).size(), 2U);
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

std::string diary_text() {
  return R"({"version":1,"dataset":"cora","recipe":)" + recipe::to_json(recipe::Recipe()).dump() +
         R"(,
"device":"cpu","started":100.5,"resumed":false,"command":"plimsoll train cora.plim",
"working_folder":"/work","machine":{"host":"h","cpu":"c","cpus":2,"ram_bytes":4096,"kernel":"k"},
"store":{"nodes":5,"edges":6,"bytes":7},"threads":2,"limit_bytes":1000,"planned_memory_bytes":900,
"planned_epoch_seconds":null,"planned_parts":[{"name":"features","bytes":800}],"status":"running",
"updated":101.5,"epoch":3,"batch":4,"batches":8,"loss":0.25,"best_epoch":2,
"series":[{"epoch":1,"loss":2,"valid_acc":0.1,"test_acc":null,"seconds":1.5,"lr":0.1},
{"epoch":2,"loss":1,"valid_acc":0.6,"test_acc":0.5,"seconds":0.5,"lr":0.1}],
"memory":{"tags":["runtime","rows"],"samples":[[0,500,100],[0.5,700,100,300]]}})";
}

TEST(Diary, HasWhatATrainingWroteSoFar) {
  const TempFolder folder;
  write_file(folder / "diary.json", diary_text());
  const auto diary = read_diary(folder.path());
  ASSERT_TRUE(diary);
  EXPECT_EQ(diary->command, "plimsoll train cora.plim");
  EXPECT_EQ(diary->limit_bytes, 1000U);
  EXPECT_EQ(diary->batch, 4U);
  EXPECT_EQ(diary->planned_parts.at(0).name, "features");
  ASSERT_EQ(diary->memory.samples.size(), 2U);
  EXPECT_EQ(diary->memory.samples[0].tag_bytes, (std::vector<uint64_t>{100, 0}));
  EXPECT_EQ(diary->memory.samples[1].tag_bytes, (std::vector<uint64_t>{100, 300}));
  EXPECT_FALSE(diary->gpu);
  const TrainingRecord& record = diary->so_far;
  EXPECT_EQ(record.status, recipe::TrainingStatus::running);
  EXPECT_EQ(record.series.size(), 2U);
  EXPECT_EQ(record.valid_accuracy, 0.6);
  EXPECT_EQ(record.test_accuracy, 0.5);
  EXPECT_EQ(record.seconds, 2.0);
  EXPECT_EQ(record.peak_memory_bytes, 700U);
}

TEST(Diary, HasTheMemoryOfAGpu) {
  nlohmann::json json = nlohmann::json::parse(diary_text());
  json["gpu"] = {{"name", "NVIDIA H200"},
                 {"limit_bytes", 900},
                 {"planned_bytes", 800},
                 {"peak_bytes", 790},
                 {"parts",
                  {{{"name", "features"}, {"planned_bytes", 300}, {"taken_bytes", 290}},
                   {{"name", "runtime"}, {"planned_bytes", 500}, {"taken_bytes", nullptr}}}}};
  const TrainingDiary diary = parse_diary(json.dump(), "");
  ASSERT_TRUE(diary.gpu);
  EXPECT_EQ(diary.gpu->name, "NVIDIA H200");
  EXPECT_EQ(diary.gpu->peak_bytes, 790U);
  ASSERT_EQ(diary.gpu->parts.size(), 2U);
  EXPECT_EQ(diary.gpu->parts[0].taken_bytes, 290U);
  EXPECT_FALSE(diary.gpu->parts[1].taken_bytes);
}

TEST(Diary, SamplesOfMoreTagsThanMemoryHoldsAreRefused) {
  nlohmann::json json = nlohmann::json::parse(diary_text());
  json["memory"]["tags"] = std::vector<std::string>(10'000, "t");
  json["memory"]["samples"] = nlohmann::json(1000, nlohmann::json({0, 1}));
  expect_error(ErrorKind::input, {"diary.json", "1000 samples of 10000 tags"},
               [&] { parse_diary(json.dump(), ""); });
}

TEST(Diary, ANumberOfBytesIsWholeAndNotNegative) {
  for (const char* bytes : {"-1", "1e300", "0.5", "null", "\"1\""}) {
    nlohmann::json json = nlohmann::json::parse(diary_text());
    json["memory"]["samples"][0][2] = nlohmann::json::parse(bytes);
    expect_error(ErrorKind::input, {"diary.json"}, [&] { parse_diary(json.dump(), ""); });
  }
}

TEST(Diary, ADamagedOneIsNone) {
  const TempFolder folder;
  EXPECT_FALSE(read_diary(folder.path()));
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[1]"), diary_text().substr(0, 400)}) {
    write_file(folder / "diary.json", text);
    EXPECT_FALSE(read_diary(folder.path())) << text;
  }
}

}  // namespace
}  // namespace plimsoll::launch
