#include "experiment/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "experiment/expected_time.h"
#include "temp_folder.h"

namespace plimsoll::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const ExperimentKind kMnist{.repository = "examples", .model = "mnist"};

Experiment mnist(size_t number) {
  Experiment made{.number = number};
  made.training = {.repository = "examples", .model = "mnist", .values = {}};
  return made;
}

TEST(ExpectedTime, IsTheMedianOfWhatTheSameTrainingTook) {
  Durations durations;
  EXPECT_EQ(durations.median(kMnist), std::nullopt);
  for (const double seconds : {30.0, 10.0, 1000.0}) durations.add(kMnist, seconds);
  EXPECT_EQ(durations.median(kMnist), 30);
  durations.add(kMnist, 20);
  EXPECT_EQ(durations.median(kMnist), 25);
  ExperimentKind beside = kMnist;
  beside.parallel = true;
  EXPECT_EQ(durations.median(beside), std::nullopt);
}

TEST(ExpectedTime, PrefersThisRunToEarlierOnes) {
  Durations earlier;
  earlier.add(kMnist, 100);
  ExpectedTimes expected(earlier);
  EXPECT_EQ(expected.of(mnist(1)), 100);
  expected.add(mnist(1), 7);
  EXPECT_EQ(expected.of(mnist(2)), 7);
}

class EarlierRuns : public testing::Test {
 protected:
  EarlierRuns() {
    std::filesystem::remove_all(folder_);
    write("run_1", "examples,mnist,True,10,x_001\nexamples,mnist,False,1,x_002\n");
    write("run_2", "examples,mnist,True,20,y_001\nexamples,mnist,True,90,y_002_parallel\n");
  }
  ~EarlierRuns() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& run, const std::string& rows) const {
    std::filesystem::create_directories(folder_ / run);
    std::ofstream(folder_ / run / "summary.csv")
        << "repository,model,training_success,duration_seconds,experiment_id\n"
        << rows;
  }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("earlier_runs_" + std::to_string(getpid()));
};

TEST_F(EarlierRuns, CountWhatSucceeded) {
  EXPECT_EQ(earlier_durations(folder_, {}, {}).median(kMnist), 15);
  ExperimentKind beside = kMnist;
  beside.parallel = true;
  EXPECT_EQ(earlier_durations(folder_, {}, {}).median(beside), 90);
}

TEST_F(EarlierRuns, DoNotIncludeTheRunItself) {
  EXPECT_EQ(earlier_durations(folder_, {}, folder_ / "run_2").median(kMnist), 10);
}

TEST_F(EarlierRuns, MayBeTablesFromElsewhereOrBroken) {
  write("run_3", "examples,mnist\n\"no end");
  std::filesystem::rename(folder_ / "run_2/summary.csv", folder_ / "old.csv");
  EXPECT_EQ(earlier_durations(folder_, {folder_ / "old.csv"}, {}).median(kMnist), 15);
  EXPECT_EQ(earlier_durations("/nowhere", {"/nowhere.csv"}, {}).median(kMnist), std::nullopt);
}

TEST(TimeLeft, CountsWhatTheRunningOneStillNeedsAndSaysWhatIsUnknown) {
  ExpectedTimes expected;
  expected.add(mnist(1), 60);
  const Experiment waiting = mnist(3);
  Experiment strange = mnist(4);
  strange.training.model = "ff";
  const RunningNow running{.seconds = 45, .expected_seconds = 60, .expected_rest = 15};
  EXPECT_EQ(describe(time_left({&waiting}, {running}, expected)), "about 1 min 15 s");
  EXPECT_EQ(describe(time_left({&waiting, &strange}, {running}, expected)),
            "about 1 min 15 s, and 1 experiment of unknown length");
  EXPECT_EQ(describe(time_left({&strange}, {}, expected)),
            "unknown (no similar experiment has run yet)");
  const RunningNow late{.seconds = 90, .expected_seconds = 60};
  EXPECT_EQ(describe(time_left({&waiting}, {late}, expected)),
            "about 1 min 00 s, and 1 experiment of unknown length")
      << "no experiment took that long, so nobody knows";
}

TEST(TimeLeft, HasASpreadIfSimilarOnesTookDifferentlyLong) {
  ExpectedTimes expected;
  for (const double seconds : {40, 60, 80}) expected.add(mnist(1), seconds);
  const Experiment waiting = mnist(3);
  const std::vector<const Experiment*> three(3, &waiting);
  // 20 s each; the mean of three is uncertain, too: 20 * sqrt(3 + 9 / 3).
  EXPECT_EQ(describe(time_left(three, {}, expected)), "about 3 min 00 s ± 49.0 s");
  EXPECT_EQ(expected.rest_of(waiting, 50), 20) << "the median of 60 and 80, less 50";
  EXPECT_EQ(expected.rest_of(waiting, 90), std::nullopt);
}

// asha: most of them are stopped soon, and so will most of those that wait.
TEST(TimeLeft, CountsExperimentsThatAreStoppedEarly) {
  ExpectedTimes expected;
  expected.add(mnist(1), 10);
  EXPECT_EQ(expected.of(mnist(3)), 10);
  for (const double seconds : {1.0, 1.0, 2.0, 1.0}) expected.add_stopped(mnist(2), seconds);
  EXPECT_EQ(expected.of(mnist(3)), 3) << "the mean of all five";
  EXPECT_EQ(expected.rest_of(mnist(3), 1.5), 4.5) << "the median of 2 and 10, less 1.5";
}

TEST(TimeLeft, IsSharedByThoseThatRunAtOnceAndLastsAsLongAsTheLongest) {
  const auto left = [](std::vector<double> times, size_t jobs) {
    TimeLeft all;
    for (const double seconds : times) all.add(seconds);
    all.share_among(jobs);
    return all.seconds;
  };
  EXPECT_EQ(left({10, 10, 10, 10}, 4), 10);
  EXPECT_EQ(left({10, 10, 10, 10, 10, 10, 10, 10}, 4), 20);
  EXPECT_EQ(left({10}, 4), 10) << "one alone is not divided by four";
  EXPECT_EQ(left({90, 1, 1, 1}, 4), 90);
  EXPECT_EQ(left({}, 4), 0);
}

TEST(LastLine, IsTheLastStateOfAProgressBarWithoutItsColours) {
  EXPECT_EQ(last_line_of("epoch 1\nepoch 2\n\n"), "epoch 2");
  EXPECT_EQ(last_line_of("10 %\r20 %\r\033[2K\033[32m30 %\033[0m"), "30 %");
  EXPECT_EQ(last_line_of("a\tb\007\n"), "a b");
  EXPECT_EQ(last_line_of("\n\r\n"), "");
  EXPECT_EQ(last_line_of("\033["), "");
}

TEST(DescribedLog, NamesTheFileAndItsLastLine) {
  const TempFolder folder;
  const auto log = folder.path() / "training.log";
  EXPECT_EQ(describe_log(log), "");
  std::ofstream(log).close();
  EXPECT_EQ(describe_log(log), "\n  > (the log is empty)\n  log: " + log.string());
  std::ofstream(log) << "epoch 1\nValueError: no\n";
  EXPECT_EQ(describe_log(log), "\n  > ValueError: no\n  log: " + log.string());
}

TEST(BatchProgress, SaysWhatRunsTheMachineAndWhatIsLeft) {
  const BatchProgress progress{.running = RunningNow{.experiment = "examples_mnist_002",
                                                     .attempt = 2,
                                                     .values = "epochs 12",
                                                     .last_line = "epoch 3",
                                                     .seconds = 12,
                                                     .expected_seconds = 60},
                               .succeeded = 1,
                               .failed = 2,
                               .left = 3,
                               .time_left = {.seconds = 100, .known = 3}};
  const MachineNow machine{.gpus = {{.index = 0,
                                     .total_bytes = 10ULL << 30,
                                     .used_bytes = 5ULL << 30,
                                     .utilisation_percent = 97}},
                           .ram_used_bytes = 1ULL << 30,
                           .ram_total_bytes = 4ULL << 30};
  EXPECT_THAT(
      lines_of(progress, machine),
      ElementsAre("examples_mnist_002, attempt 2 | 12.0 s of about 1 min 00 s | epochs 12",
                  "  > epoch 3", "  GPU 0 5.0 GiB of 10.0 GiB 97 % | RAM 1.0 GiB of 4.0 GiB",
                  "  1 succeeded, 2 failed, 3 left; time left: about 1 min 40 s"));
}

}  // namespace
}  // namespace plimsoll::experiment
