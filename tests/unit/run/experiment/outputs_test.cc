#include "experiment/outputs.h"

#include <gtest/gtest.h>

#include "temp_folder.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;

// A run of three experiments; the second has not finished.
class OutputsTest : public testing::Test {
 protected:
  OutputsTest() {
    for (const size_t number : {1, 2, 3}) {
      const std::string name = "toy_good_00" + std::to_string(number);
      queue_.push_back({.number = number,
                        .id = "run__" + name,
                        .folder = name,
                        .varied = false,
                        .training = {.repository = "toy", .model = "good"}});
      AttemptResult attempt{
          .cause = Cause::success, .started = 1e9, .seconds = 0.1 * static_cast<double>(number)};
      attempt.metrics["loss"] = {.number = 1e-5};
      attempts_.push_back({.experiment = static_cast<int64_t>(number),
                           .number = 1,
                           .result = number == 2 ? "" : to_text(attempt)});
      entries_.push_back(
          {.number = static_cast<int64_t>(number),
           .id = queue_.back().id,
           .result = number == 2 ? "" : to_text(ExperimentResult{true, 0, "", attempt})});
    }
  }
  std::vector<std::string> wrong(Mend mend) const {
    std::vector<std::string> names;
    for (const fs::path& file : wrong_outputs({.folder = folder_.path(),
                                .catalog = catalog_,
                                .queue = queue_,
                                .entries = entries_,
                                .attempts = attempts_},
                                              mend)) {
      names.push_back(fs::relative(file, folder_.path()).string());
    }
    return names;
  }

  TempFolder folder_;
  Catalog catalog_;
  std::vector<Experiment> queue_;
  std::vector<JournalEntry> entries_;
  std::vector<JournalAttempt> attempts_;
};

using Names = std::vector<std::string>;
constexpr const char* kFirst = "toy_good_001/experiment.json";
constexpr const char* kThird = "toy_good_003/experiment.json";

TEST_F(OutputsTest, AreMadeFromTheJournalAndThenLeftAlone) {
  EXPECT_EQ(wrong(Mend::no), (Names{kFirst, kThird, "summary.csv"}));
  EXPECT_TRUE(names_in(folder_.path()).empty()) << "who only looks writes nothing";
  EXPECT_EQ(wrong(Mend::yes), (Names{kFirst, kThird, "summary.csv"}));
  EXPECT_EQ(wrong(Mend::yes), Names{});
  EXPECT_FALSE(fs::exists(folder_ / "toy_good_002"));
}

TEST_F(OutputsTest, ThatALossOfPowerDamagedAreMadeAgain) {
  wrong(Mend::yes);
  const std::string whole = read_file(folder_ / kFirst);
  const std::string table = read_file(folder_ / "summary.csv");
  for (const std::string& damaged :
       {std::string(), whole.substr(0, whole.size() / 2), std::string(whole.size(), '\0')}) {
    write_file(folder_ / kFirst, damaged);
    EXPECT_EQ(wrong(Mend::yes), Names{kFirst});
    EXPECT_EQ(read_file(folder_ / kFirst), whole);
  }
  for (const std::string& damaged : {std::string(), table.substr(0, table.size() - 20)}) {
    write_file(folder_ / "summary.csv", damaged);
    EXPECT_EQ(wrong(Mend::yes), Names{"summary.csv"});
    EXPECT_EQ(read_file(folder_ / "summary.csv"), table);
  }
}

TEST_F(OutputsTest, OfAnEarlierAttemptAreMadeAgain) {
  wrong(Mend::yes);
  ExperimentResult failed;
  failed.last.cause = Cause::failed;
  entries_[2].result = to_text(failed);
  EXPECT_EQ(wrong(Mend::yes), (Names{kThird, "summary.csv"}));
  EXPECT_NE(read_file(folder_ / kThird).find("\"training_success\": false"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::experiment
