#include "experiment/journal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

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
  expect_error(ErrorKind::io, {"is no run"}, [&] { Journal::open(folder.path()); });
  Journal::create(folder.path(), "", kQueue);
  expect_error(ErrorKind::exists, {"--resume"},
               [&] { Journal::create(folder.path(), "", kQueue); });
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
