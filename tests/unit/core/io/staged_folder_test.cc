#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "io/partial_file.h"
#include "temp_folder.h"

namespace plimsoll::io {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

class StagedFolderTest : public testing::Test {
 protected:
  // A store of an earlier run.
  void make_old() {
    write_file(target_ / "edges", "old");
    write_file(target_ / "only-in-the-old/rows", "old");
  }

  TempFolder folder_;
  fs::path target_ = folder_ / "store";
};

TEST_F(StagedFolderTest, AppearsOnlyAtCommit) {
  StagedFolder staged(target_, false);
  EXPECT_EQ(staged.target(), target_);
  EXPECT_EQ(staged.path(), folder_ / "store.partial");
  write_file(staged.path() / "edges", "new");
  EXPECT_FALSE(fs::exists(target_));
  staged.commit();
  EXPECT_EQ(read_file(target_ / "edges"), "new");
  EXPECT_EQ(names_in(folder_.path()), Names{"store"});
}

TEST_F(StagedFolderTest, StaysAfterItsOwnerEnds) {
  {
    StagedFolder staged(target_, false);
    write_file(staged.path() / "edges", "new");
    staged.commit();
  }
  EXPECT_EQ(read_file(target_ / "edges"), "new");
}

TEST_F(StagedFolderTest, LeavesNothingWithoutCommit) {
  {
    const StagedFolder staged(target_, false);
    write_file(staged.path() / "features/part-0", "new");
    EXPECT_EQ(names_in(folder_.path()), Names{"store.partial"});
  }
  EXPECT_EQ(names_in(folder_.path()), Names{});
}

TEST_F(StagedFolderTest, RefusesAnExistingTarget) {
  make_old();
  expect_error(ErrorKind::exists, {target_.string() + " exists", "--force"},
               [&] { const StagedFolder staged(target_, false); });
  EXPECT_EQ(names_in(folder_.path()), Names{"store"});
  EXPECT_EQ(read_file(target_ / "edges"), "old");
}

TEST_F(StagedFolderTest, RefusesALinkToNowhereAsATarget) {
  fs::create_symlink("nowhere", target_);
  expect_error(ErrorKind::exists, {target_.string()},
               [&] { const StagedFolder staged(target_, false); });
}

TEST_F(StagedFolderTest, RefusesATargetThatAppearedMeanwhile) {
  {
    StagedFolder staged(target_, false);
    make_old();
    expect_error(ErrorKind::exists, {target_.string() + " appeared", "--force"},
                 [&] { staged.commit(); });
  }
  EXPECT_EQ(names_in(folder_.path()), Names{"store"});
  EXPECT_EQ(read_file(target_ / "edges"), "old");
}

TEST_F(StagedFolderTest, ReplacesTheOldOneAndRemovesIt) {
  make_old();
  StagedFolder staged(target_, true);
  write_file(staged.path() / "edges", "new");
  EXPECT_EQ(read_file(target_ / "edges"), "old");
  staged.commit();
  EXPECT_EQ(names_in(target_), Names{"edges"});
  EXPECT_EQ(read_file(target_ / "edges"), "new");
  EXPECT_EQ(names_in(folder_.path()), Names{"store"});
}

TEST_F(StagedFolderTest, KeepsTheOldOneWithoutCommit) {
  make_old();
  {
    const StagedFolder staged(target_, true);
    write_file(staged.path() / "edges", "new");
  }
  EXPECT_EQ(read_file(target_ / "edges"), "old");
  EXPECT_EQ(names_in(folder_.path()), Names{"store"});
}

TEST_F(StagedFolderTest, ReplacesWhereThereIsNothingToReplace) {
  StagedFolder staged(target_, true);
  staged.commit();
  EXPECT_TRUE(fs::is_directory(target_));
}

TEST_F(StagedFolderTest, ReplacesALinkAndNotWhatItPointsTo) {
  write_file(folder_ / "elsewhere/edges", "precious");
  fs::create_symlink("elsewhere", target_);
  StagedFolder staged(target_, true);
  write_file(staged.path() / "edges", "new");
  staged.commit();
  EXPECT_FALSE(fs::is_symlink(target_));
  EXPECT_EQ(read_file(target_ / "edges"), "new");
  EXPECT_EQ(read_file(folder_ / "elsewhere/edges"), "precious");
}

TEST_F(StagedFolderTest, IsThereAtEveryMomentOfAReplacement) {
  make_old();
  std::atomic<int> looks = 0;
  std::atomic<int> misses = 0;
  std::jthread watcher([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (::access(target_.c_str(), F_OK) != 0) ++misses;
      ++looks;
    }
  });
  while (looks == 0) std::this_thread::yield();
  for (int i = 0; i < 40; ++i) {
    StagedFolder staged(target_, true);
    for (int file = 0; file < 20; ++file) {
      write_file(staged.path() / std::to_string(file), "new");
    }
    staged.commit();
  }
  watcher.request_stop();
  watcher.join();
  EXPECT_EQ(misses, 0);
}

TEST_F(StagedFolderTest, RemovesWhatAKilledRunLeft) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const StagedFolder staged(target_, false);
    write_file(staged.path() / "features/part-0", "half of it");
    ::_exit(0);  // as if killed: no destructor runs
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_EQ(names_in(folder_ / "store.partial"), Names{"features"});

  StagedFolder staged(target_, false);
  EXPECT_TRUE(staged.removed_remains());
  EXPECT_EQ(names_in(staged.path()), Names{});
  write_file(staged.path() / "edges", "new");
  staged.commit();
  EXPECT_EQ(names_in(target_), Names{"edges"});
}

TEST_F(StagedFolderTest, CountsAnEmptyFolderAsRemains) {
  fs::create_directory(folder_ / "store.partial");
  EXPECT_TRUE(StagedFolder(target_, false).removed_remains());
  EXPECT_EQ(names_in(folder_.path()), Names{});
}

TEST_F(StagedFolderTest, SaysWhereThereWereNoRemains) {
  EXPECT_FALSE(StagedFolder(target_, false).removed_remains());
}

TEST_F(StagedFolderTest, RefusesWhatALiveRunIsWriting) {
  StagedFolder first(target_, true);
  write_file(first.path() / "edges", "first");
  expect_error(ErrorKind::exists, {"another run is writing", first.path().string()},
               [&] { const StagedFolder second(target_, true); });
  EXPECT_EQ(names_in(first.path()), Names{"edges"});  // the refused one removed nothing
  first.commit();
  StagedFolder second(target_, true);
  write_file(second.path() / "edges", "second");
  second.commit();
  EXPECT_EQ(read_file(target_ / "edges"), "second");
}

// Each thread stands for a run: locks belong to open files, not to processes.
TEST_F(StagedFolderTest, LetsRunsThatCompeteCommitOneAfterTheOther) {
  constexpr int kRunsEach = 15;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::mutex mutex;
  std::vector<std::string> failures;
  const auto fail_with = [&](const std::string& what) {
    const std::lock_guard lock(mutex);
    failures.push_back(what);
  };
  const auto run_until_committed = [&] {
    for (int run = 0; run < kRunsEach;) {
      try {
        StagedFolder staged(target_, true);
        for (const char* name : {"edges", "rows", "labels"}) write_file(staged.path() / name, "x");
        if (names_in(staged.path()).size() != 3) fail_with("files of a live run are gone");
        staged.commit();
        ++run;
      } catch (const Error& error) {
        const bool late = std::chrono::steady_clock::now() > deadline;
        if (error.kind() == ErrorKind::exists && !late) continue;  // another run is writing
        fail_with(error.what());
        ++run;
      } catch (const std::exception& error) {
        fail_with(error.what());
        ++run;
      }
    }
  };
  {
    std::vector<std::jthread> runs;
    for (int i = 0; i < 4; ++i) runs.emplace_back(run_until_committed);
  }
  EXPECT_EQ(failures, Names{});
  EXPECT_EQ(names_in(target_), (Names{"edges", "labels", "rows"}));
  EXPECT_EQ(names_in(folder_.path()), Names{"store"});
}

TEST_F(StagedFolderTest, TakesATrailingSlash) {
  StagedFolder staged(target_.string() + "/", false);
  EXPECT_EQ(staged.path(), folder_ / "store.partial");
  staged.commit();
  EXPECT_TRUE(fs::is_directory(target_));
}

TEST_F(StagedFolderTest, RefusesAMissingParent) {
  const fs::path target = folder_ / "missing/store";
  expect_error(
      ErrorKind::io,
      {"cannot write " + target.string(), (folder_ / "missing").string(), "does not exist"},
      [&] { const StagedFolder staged(target, false); });
  EXPECT_EQ(names_in(folder_.path()), Names{});
}

TEST_F(StagedFolderTest, RefusesAFileInItsWay) {
  write_file(folder_ / "store.partial", "a file of the user");
  expect_error(ErrorKind::io, {"store.partial", "Not a directory"},
               [&] { const StagedFolder staged(target_, false); });
  EXPECT_EQ(read_file(folder_ / "store.partial"), "a file of the user");
}

TEST_F(StagedFolderTest, RefusesALinkInItsWayAndLeavesWhatItPointsTo) {
  write_file(folder_ / "elsewhere/rows", "precious");
  fs::create_symlink("elsewhere", folder_ / "store.partial");
  expect_error(ErrorKind::io, {"store.partial"},
               [&] { const StagedFolder staged(target_, false); });
  EXPECT_EQ(read_file(folder_ / "elsewhere/rows"), "precious");
}

TEST_F(StagedFolderTest, TakesALinkAsAParent) {
  fs::create_directory(folder_ / "disk");
  fs::create_directory_symlink("disk", folder_ / "link");
  StagedFolder staged(folder_ / "link/store", false);
  staged.commit();
  EXPECT_EQ(names_in(folder_ / "disk"), Names{"store"});
}

TEST_F(StagedFolderTest, RefusesAReadOnlyParent) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  expect_error(ErrorKind::io, {"store.partial", "check its owner and permissions"},
               [&] { const StagedFolder staged(target_, false); });
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

}  // namespace
}  // namespace plimsoll::io
