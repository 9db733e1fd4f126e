#include "experiment/journal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "experiment/run_folder.h"
#include "temp_folder.h"

namespace plimsoll::experiment {
namespace {

const std::vector<JournalEntry> kQueue = {{.number = 1, .id = "r__a_1", .plan = "{\"x\":1}"},
                                          {.number = 2, .id = "r__a_2", .plan = "{}"}};

TEST(Journal, KeepsQueueAttemptsAndResultsInTheirOrder) {
  const TempFolder folder;
  {
    Journal journal = Journal::create(folder.path(), "the settings", kQueue);
    journal.begin_attempt(1, 1, "first");
    journal.attempt_started(1, 1, "who");
    journal.end_attempt(1, 1, "failed");
    journal.begin_attempt(1, 2, "second");
    journal.finish(1, "done");
  }
  const Journal journal = Journal::open(folder.path());
  EXPECT_EQ(journal.settings(), "the settings");
  const auto entries = journal.entries();
  ASSERT_EQ(entries.size(), 2);
  EXPECT_EQ(entries[0].id, "r__a_1");
  EXPECT_EQ(entries[0].result, "done");
  EXPECT_EQ(entries[1].result, "");
  const auto attempts = journal.attempts();
  ASSERT_EQ(attempts.size(), 2);
  EXPECT_EQ(attempts[0].process, "who");
  EXPECT_EQ(attempts[0].result, "failed");
  EXPECT_EQ(attempts[1].plan, "second");
  EXPECT_EQ(attempts[1].result, "");
}

TEST(Journal, WhatWasWrittenIsThereAfterAKill) {
  const TempFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    Journal journal = Journal::create(folder.path(), "s", kQueue);
    journal.begin_attempt(2, 1, "p");
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(Journal::open(folder.path()).attempts().size(), 1);
}

TEST(Journal, ReopensExperimentsAndKeepsTheirAttempts) {
  const TempFolder folder;
  {
    Journal journal = Journal::create(folder.path(), "s", kQueue);
    for (const int64_t experiment : {1, 2}) {
      journal.begin_attempt(experiment, 1, "p");
      journal.end_attempt(experiment, 1, "failed");
      journal.finish(experiment, "done");
    }
    journal.set_paused("a cause");
    journal.reopen({{.experiment = 2,
                     .attempts = {{.experiment = 2,
                                   .number = 1,
                                   .plan = "p",
                                   .process = "",
                                   .result = "failed before"}}}});
  }
  Journal journal = Journal::open(folder.path());
  EXPECT_EQ(journal.entries()[0].result, "done");
  EXPECT_EQ(journal.entries()[1].result, "");
  EXPECT_EQ(journal.attempts()[0].result, "failed");
  EXPECT_EQ(journal.attempts()[1].result, "failed before");
  EXPECT_EQ(journal.paused(), "a cause");
  journal.set_paused("");
  EXPECT_EQ(journal.paused(), "");
}

TEST(Journal, RefusesASecondOneAndAFolderWithoutOne) {
  const TempFolder folder;
  expect_error(ErrorKind::io, {"is not a run"}, [&] { Journal::open(folder.path()); });
  Journal::create(folder.path(), "", kQueue);
  expect_error(ErrorKind::exists, {"--resume"},
               [&] { Journal::create(folder.path(), "", kQueue); });
}

// Runs `action` without any right to write: as root by becoming nobody, else by the folder's
// permissions. False where it threw, or cannot be tried.
template <typename Action>
bool works_for_a_reader(const TempFolder& folder, Action action) {
  namespace fs = std::filesystem;
  const auto read_only = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  const auto enter = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  const auto allow = [&](fs::perms files, fs::perms whole) {
    fs::permissions(folder.path(), fs::perms::owner_all);
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      fs::permissions(entry.path(), files);
    }
    fs::permissions(folder.path(), whole);
  };
  allow(read_only, read_only | enter);
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(2);
    try {
      _exit(action() ? 0 : 1);
    } catch (const std::exception& error) {
      fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  allow(fs::perms::owner_read | fs::perms::owner_write, fs::perms::owner_all);
  return status == 0;
}

TEST(Journal, IsReadWithoutTheRightToWrite) {
  const TempFolder folder;
  const auto reads = [&](size_t attempts) {
    return works_for_a_reader(folder, [&] {
      const Journal journal = Journal::open_to_read(folder.path());
      return journal.entries().size() == 2 && journal.attempts().size() == attempts &&
             journal.settings() == "s";
    });
  };
  {
    Journal journal = Journal::create(folder.path(), "s", kQueue);
    journal.begin_attempt(1, 1, "p");
    EXPECT_TRUE(reads(1)) << "while it is written";
    journal.begin_attempt(2, 1, "p");
    EXPECT_TRUE(reads(2)) << "while it is written";
    EXPECT_EQ(names_in(folder.path()),
              (std::vector<std::string>{"journal.sqlite", "journal.sqlite-wal"}))
        << "shared memory does not work on network disks";
  }
  EXPECT_TRUE(reads(2)) << "after its end";
  const pid_t child = fork();
  if (child == 0) {
    Journal journal = Journal::open(folder.path());
    journal.begin_attempt(2, 2, "p");
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(reads(3)) << "after a kill";
  EXPECT_TRUE(reads(3)) << "a reader has changed it";
  EXPECT_EQ(Journal::open(folder.path()).attempts().size(), 3);
}

TEST(Journal, LeavesNoCopyBehindAndNoChange) {
  const TempFolder folder;
  const TempFolder copies;
  setenv("TMPDIR", copies.path().c_str(), 1);
  Journal::create(folder.path(), "s", kQueue);
  const std::string before = read_file(folder / "journal.sqlite");
  {
    const Journal journal = Journal::open_to_read(folder.path());
    EXPECT_TRUE(names_in(copies.path()).empty());
    EXPECT_EQ(journal.entries().size(), 2);
  }
  unsetenv("TMPDIR");
  EXPECT_TRUE(names_in(copies.path()).empty());
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"journal.sqlite"});
  EXPECT_EQ(read_file(folder / "journal.sqlite"), before);
}

// The writer finishes an experiment and begins its next attempt, over and over, with so much text
// that the log begins anew often, and sometimes goes: every copy must be of one moment.
TEST(Journal, IsReadAsOfOneMomentWhileItIsWritten) {
  const TempFolder folder;
  constexpr int64_t kRounds = 60;
  Journal::create(folder.path(), "s", kQueue);
  const pid_t child = fork();
  if (child == 0) {
    int64_t number = 1;
    while (number < kRounds) {
      Journal journal = Journal::open(folder.path());
      for (int i = 0; i < 20; ++i, ++number) {
        const std::string text(40'000, static_cast<char>('a' + number % 26));
        journal.begin_attempt(1, number, text);
        journal.finish(1, std::to_string(number) + text);
        journal.finish(2, std::to_string(number) + text);
      }
    }
    _exit(0);
  }
  int64_t last = 0;
  int copies = 0;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    const Journal journal = Journal::open_to_read(folder.path());
    ++copies;
    const auto entries = journal.entries();
    const auto attempts = static_cast<int64_t>(journal.attempts().size());
    const auto number_of = [](const JournalEntry& entry) {
      return entry.result.empty() ? 0 : std::stoll(entry.result);
    };
    ASSERT_EQ(entries.size(), 2);
    ASSERT_GE(attempts, number_of(entries[0]));
    ASSERT_GE(number_of(entries[0]), number_of(entries[1]));
    ASSERT_LE(attempts - number_of(entries[1]), 1);
    ASSERT_GE(attempts, last);
    last = attempts;
  }
  EXPECT_EQ(status, 0);
  EXPECT_GT(copies, 0);
}

TEST(RunLock, IsForOneAtATimeAndGoesWithItsHolder) {
  const TempFolder folder;
  const auto file = folder / "lock";
  EXPECT_FALSE(RunLock::is_taken(file));
  {
    const auto first = RunLock::take(file, false);
    ASSERT_TRUE(first);
    EXPECT_TRUE(RunLock::is_taken(file));
    EXPECT_FALSE(RunLock::take(file, false));
  }
  EXPECT_FALSE(RunLock::is_taken(file));
  EXPECT_TRUE(RunLock::take(file, true));
}

}  // namespace
}  // namespace plimsoll::experiment
