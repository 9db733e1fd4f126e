#include "report/run_list.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "base/fd.h"
#include "report/run_data.h"
#include "temp_folder.h"

namespace plimsoll::report {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

constexpr const char* kResults =
    R"({"dataset": "cora", "model": "sage", "best_epoch": 3, "valid_acc": 0.79, "test_acc": 0.781,
"training_time": 5.5, "epochs": 4, "timestamp": "2026-11-18T06:20:13+00:00", "status": "finished",
"epochs_run": 4, "recipe": {"model": "sage"}, "series": [)";

TEST(FindRuns, FindsTrainingsSeedsAndLogs) {
  const TempFolder folder;
  write(folder.path() / "a/results.json", kResults);
  write(folder.path() / "deep/er/b/results.json", kResults);
  write(folder.path() / "seeds/seed_0/results.json", kResults);
  write(folder.path() / "seeds/seed_1/results.json", kResults);
  write(folder.path() / "logs/train-123.log", "starting\nthe last line\n");
  write(folder.path() / "logs/slurm-77_3.out", "x\n");
  write(folder.path() / "logs/notes.log", "not of a job\n");
  std::vector<std::string> names;
  for (const FoundRun& run : find_runs(folder.path())) names.push_back(run.name);
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "deep/er/b", "logs/slurm-77_3.out",
                                             "logs/train-123.log", "seeds"}));
}

TEST(FindRuns, ReadsOnlyTheBeginningOfResults) {
  const TempFolder folder;
  write(folder.path() / "results.json", kResults);  // it is cut off: not JSON
  const auto runs = find_runs(folder.path());
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].name, ".");
  EXPECT_EQ(runs[0].state, FoundState::finished);
  EXPECT_EQ(runs[0].what, "sage on cora, 4 epochs");
  EXPECT_EQ(runs[0].best, "test 78.1 %");
  ASSERT_TRUE(runs[0].started);
  EXPECT_NEAR(*runs[0].started, 1794982813 - 5.5, 0.01);
}

TEST(FindRuns, ATrainingThatHoldsItsFolderRuns) {
  const TempFolder folder;
  write(folder.path() / "run/diary.json", "{}");
  const Fd lock(::open((folder.path() / "run").c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  EXPECT_EQ(find_runs(folder.path()).at(0).state, FoundState::running);
}

TEST(FindRuns, DoesNotFollowLinksOrGoTooDeep) {
  const TempFolder folder;
  write(folder.path() / "a/b/c/results.json", kResults);
  fs::create_directory_symlink(folder.path(), folder.path() / "a/loop");
  EXPECT_EQ(find_runs(folder.path(), {.depth = 3}).size(), 1U);
  EXPECT_EQ(find_runs(folder.path(), {.depth = 2}).size(), 0U);
}

TEST(FindRuns, AFileThatIsNotAJournalIsLeftOut) {
  const TempFolder folder;
  write(folder.path() / "broken/journal.sqlite", "this is no database");
  EXPECT_TRUE(find_runs(folder.path()).empty());
}

TEST(FindRuns, ResultsOfAnotherProgramAreLeftOut) {
  const TempFolder folder;
  write(folder.path() / "other/results.json", R"({"score": 3})");
  write(folder.path() / "broken/results.json", "\x01\x02");
  EXPECT_TRUE(find_runs(folder.path()).empty());
}

TEST(FindRuns, ListsAThousandRuns) {
  const TempFolder folder;
  for (size_t i = 0; i < 1000; ++i) {
    write(folder.path() / fmt::format("run_{}", i) / "results.json", kResults);
  }
  EXPECT_EQ(find_runs(folder.path()).size(), 1000U);
  EXPECT_EQ(find_runs(folder.path(), {.most_runs = 10}).size(), 10U);
}

TEST(LoadRun, RefusesWhatIsNoRun) {
  const TempFolder folder;
  EXPECT_THROW(load_run(folder.path()), Error);
  EXPECT_THROW(load_run(folder.path() / "missing"), Error);
}

TEST(LoadRun, ReadsTheEndOfALog) {
  const TempFolder folder;
  std::string text;
  for (size_t i = 0; i < 10'000; ++i) text += fmt::format("line {}\n", i);
  write(folder.path() / "job-1.log", text);
  const auto data = std::get<JobLogData>(load_run(folder.path() / "job-1.log"));
  EXPECT_EQ(data.bytes, text.size());
  EXPECT_TRUE(data.tail.starts_with("line "));
  EXPECT_TRUE(data.tail.ends_with("line 9999\n"));
  EXPECT_LT(data.tail.size(), 20'000U);
}

}  // namespace
}  // namespace plimsoll::report
