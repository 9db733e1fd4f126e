#include "base/child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/text_file.h"
#include "temp_folder.h"

namespace plimsoll {
namespace {

ProgramQuestion shell(const std::string& script) { return {.words = {"sh", "-c", script}}; }

TEST(Child, AnswersWithWhatItPrintedAndItsExitCode) {
  const ProgramAnswer answer = ask_child(shell("echo out; echo error >&2; exit 3"));
  EXPECT_EQ(answer.output, "out\n");
  EXPECT_EQ(answer.code, 3);
  EXPECT_FALSE(answer.good());
  EXPECT_TRUE(ask_child(shell("exit 0")).good());
}

TEST(Child, AnswersWithBothStreamsIfAsked) {
  ProgramQuestion question = shell("echo out; echo error >&2");
  question.with_errors = true;
  EXPECT_EQ(ask_child(question).output, "out\nerror\n");
}

TEST(Child, ReadsItsInput) {
  ProgramQuestion question = shell("cat");
  question.input = std::string(100'000, 'x');
  EXPECT_EQ(ask_child(question).output, question.input);
  question.input = "";
  EXPECT_EQ(ask_child(question).output, "");
}

TEST(Child, AnswersWithAtMostOneMebibyte) {
  const ProgramAnswer answer = ask_child(shell("head -c 3000000 /dev/zero"));
  EXPECT_TRUE(answer.good());
  EXPECT_GE(answer.output.size(), size_t{1} << 20);
  EXPECT_LT(answer.output.size(), (size_t{1} << 20) + 4096);
}

TEST(Child, IsKilledWhenPatienceEnds) {
  ProgramQuestion question = shell("echo begun; exec sleep 1000");
  question.patience = std::chrono::seconds(1);
  const ProgramAnswer answer = ask_child(question);
  EXPECT_FALSE(answer.in_time);
  EXPECT_FALSE(answer.good());
  EXPECT_EQ(answer.code, 128 + SIGKILL);
}

TEST(Child, FindsNoSignalBlocked) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const ProgramAnswer answer = ask_child(shell("grep SigBlk /proc/self/status"));
  const int code = run_child({.words = {"sh", "-c", "kill -TERM $$"}});
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(answer.output, "SigBlk:\t0000000000000000\n");
  EXPECT_EQ(code, 128 + SIGTERM);
}

TEST(Child, WritesBothStreamsToAFile) {
  const TempFolder folder;
  EXPECT_EQ(run_child({.words = {"sh", "-c", "echo out; echo error >&2; exit 7"},
                       .output = folder / "log"}),
            7);
  EXPECT_EQ(read_small_file(folder / "log", 100), "out\nerror\n");
}

TEST(Child, ThatIsNotThereIsAnError) {
  EXPECT_THROW(ask_child({.words = {"/no/such/program"}}), Error);
  EXPECT_THROW(run_child({.words = {"/no/such/program"}}), Error);
}

TEST(Child, HasVariablesAddedAndReplaced) {
  ::setenv("CHILD_TEST_OLD", "1", 1);
  ProgramQuestion question =
      shell("echo $CHILD_TEST_OLD $CHILD_TEST_NEW; env | grep -c CHILD_TEST_OLD");
  question.environment = environment_with({"CHILD_TEST_OLD=2", "CHILD_TEST_NEW=3"});
  EXPECT_EQ(ask_child(question).output, "2 3\n1\n");
  ::unsetenv("CHILD_TEST_OLD");
}

TEST(FindProgram, LooksOnThePathOrTakesAPath) {
  const TempFolder folder;
  write_file(folder / "tool", "#!/bin/sh\n");
  write_file(folder / "text", "");
  std::filesystem::permissions(folder / "tool", std::filesystem::perms::owner_all);
  std::filesystem::permissions(folder / "text", std::filesystem::perms::owner_read);
  const Host host{.variable = [&](const std::string& name) -> std::optional<std::string> {
    if (name != "PATH") return std::nullopt;
    return "/no/such/folder:" + folder.path().string();
  }};
  EXPECT_EQ(find_program("tool", host), folder / "tool");
  EXPECT_EQ(find_program("text", host), "");
  EXPECT_EQ(find_program("other", host), "");
  EXPECT_EQ(find_program((folder / "tool").string(), host), folder / "tool");
  EXPECT_EQ(find_program((folder / "other").string(), host), "");
}

}  // namespace
}  // namespace plimsoll
