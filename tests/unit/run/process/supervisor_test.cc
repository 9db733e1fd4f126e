#include "process/supervisor.h"

#include <dirent.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/host.h"
#include "base/units.h"
#include "process/tree_group.h"
#include "temp_folder.h"

namespace plimsoll::process {
namespace {

// Each test at each level that this machine offers.
class Supervisor : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    const std::string why = obstacle(GetParam());
    if (!why.empty()) GTEST_SKIP() << name(GetParam()) << ": " << why;
    setenv("XDG_STATE_HOME", folder_.path().c_str(), 1);
  }

  SuperviseOptions options(const std::string& script) const {
    return {.command = {"sh", "-c", script},
            .grace_seconds = 0.2,
            .level = GetParam(),
            .say = [](const std::string& text) { fmt::print(stderr, "{}\n", text); }};
  }
  Ending run(const std::string& script) const { return run_supervised(options(script)); }

  TempFolder folder_;
};

size_t open_files() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

TEST_P(Supervisor, ReturnsTheExitCode) {
  EXPECT_EQ(exit_code(run("exit 0")), 0);
  const Ending ending = run("exit 41");
  EXPECT_EQ(std::get<Exited>(ending.leader).code, 41);
  EXPECT_EQ(ending.cut, Cut::none);
  EXPECT_EQ(ending.level, GetParam());
  EXPECT_FALSE(ending.keeper_lost);
}

TEST_P(Supervisor, ReportsTheSignalThatEndedTheCommand) {
  EXPECT_EQ(std::get<Signaled>(run("kill -SEGV $$").leader).number, SIGSEGV);
  EXPECT_EQ(exit_code(run("kill -KILL $$")), 137);
}

TEST_P(Supervisor, ReportsACommandThatCannotBeExecuted) {
  SuperviseOptions missing = options("");
  missing.command = {"/nowhere/train.py"};
  const Ending ending = run_supervised(missing);
  EXPECT_EQ(std::get<NotStarted>(ending.leader).error, ENOENT);
  EXPECT_EQ(std::get<NotStarted>(ending.leader).what, "/nowhere/train.py");
  missing.command = {"/etc/passwd"};
  EXPECT_EQ(std::get<NotStarted>(run_supervised(missing).leader).error, EACCES);
}

TEST_P(Supervisor, CountsWhatTheLeaderLeftAndEndsIt) {
  const Ending ending = run("sleep 50 & setsid sleep 50 & exit 3");
  EXPECT_EQ(exit_code(ending), 3);
  EXPECT_GE(ending.leftovers_ended, 1U);
  EXPECT_LT(ending.seconds, 10);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "it has children left";
}

TEST_P(Supervisor, EndsItAfterTheTimeout) {
  SuperviseOptions slow = options("trap '' TERM; sleep 50; sleep 50");
  slow.timeout_seconds = 0.2;
  const Ending ending = run_supervised(slow);
  EXPECT_EQ(ending.cut, Cut::timeout);
  EXPECT_EQ(exit_code(ending), kExitTimeout);
  EXPECT_LT(ending.seconds, 5);
}

TEST_P(Supervisor, GoesOnWhenTheCommandStopsItsKeeper) {
  EXPECT_EQ(exit_code(run("kill -STOP $PPID; exit 6")), 6);
  SuperviseOptions slow = options("kill -STOP $PPID; sleep 50");
  slow.timeout_seconds = 0.2;
  EXPECT_EQ(exit_code(run_supervised(slow)), kExitTimeout);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "it has children left";
}

TEST_P(Supervisor, EndsACommandThatStopsItsKeeperAgainAndAgain) {
  if (GetParam() == Level::pid_namespace) GTEST_SKIP() << "it cannot see its keeper";
  const Ending ending = run("trap '' TERM; while kill -STOP $PPID; do :; done; sleep 50");
  EXPECT_TRUE(ending.keeper_given_up);
  EXPECT_EQ(exit_code(ending), 137);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "it has children left";
}

// Children that this process had before the run, as after `sh -c 'server & exec plimsoll ...'`.
TEST_P(Supervisor, WaitsForChildrenOfOthersAndDoesNotEndThem) {
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  siginfo_t info = {};
  waitid(P_PID, static_cast<id_t>(ended), &info, WEXITED | WNOWAIT);
  const pid_t server = fork();
  if (server == 0) {
    alarm(60);
    for (;;) pause();
  }
  EXPECT_EQ(exit_code(run("exit 3")), 3);
  EXPECT_EQ(waitpid(ended, nullptr, WNOHANG), -1) << "it was not waited for";
  EXPECT_EQ(waitpid(server, nullptr, WNOHANG), 0) << "it was ended";
  if (GetParam() != Level::pid_namespace) {  // from inside one the keeper cannot be seen
    const Ending ending = run("setsid sleep 50 & kill -KILL $PPID; sleep 50");
    EXPECT_TRUE(ending.keeper_lost);
    EXPECT_EQ(waitpid(server, nullptr, WNOHANG), 0) << "it was ended with the keeper's tree";
  }
  kill(server, SIGKILL);
  EXPECT_EQ(waitpid(server, nullptr, 0), server);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "something of the tree is left";
}

TEST_P(Supervisor, LeavesTimeToEndInAnOrderlyWay) {
  SuperviseOptions slow = options("trap 'echo saved; exit 5' TERM; while :; do sleep 0.05; done");
  slow.timeout_seconds = 1;  // enough to set the trap on a busy machine
  slow.grace_seconds = 10;
  slow.log = folder_.path() / "log";
  const Ending ending = run_supervised(slow);
  EXPECT_EQ(std::get<Exited>(ending.leader).code, 5);
  EXPECT_EQ(exit_code(ending), kExitTimeout);
  EXPECT_TRUE(ending.output_tail.ends_with("saved\n")) << ending.output_tail;
}

TEST_P(Supervisor, SaysOnceWhatItWaitsFor) {
  std::vector<std::string> said;
  SuperviseOptions deaf = options("trap '' TERM; while :; do sleep 0.05; done");
  deaf.say = [&said](const std::string& text) { said.push_back(text); };
  deaf.timeout_seconds = 1;
  deaf.grace_seconds = 2.5;
  run_supervised(deaf);
  const std::string waiting =
      "; waiting up to 2.5 s (--grace) for its processes to end, then they are killed";
  EXPECT_EQ(said, std::vector<std::string>({"the --timeout has passed" + waiting}));
  said.clear();
  deaf.command = {"sh", "-c", "(trap '' TERM; while :; do sleep 0.05; done) & sleep 0.3"};
  run_supervised(deaf);
  EXPECT_EQ(said, std::vector<std::string>(
                      {"the command has ended, but not all of its processes" + waiting}));
}

TEST_P(Supervisor, WaitsSilentlyForACommandThatEndsAtOnce) {
  std::vector<std::string> said;
  SuperviseOptions quick = options("sleep 50");
  quick.say = [&said](const std::string& text) { said.push_back(text); };
  quick.timeout_seconds = 0.2;
  quick.grace_seconds = 10;
  const Ending ending = run_supervised(quick);
  if (ending.seconds > 1) GTEST_SKIP() << "the machine is too busy to end a process in a second";
  EXPECT_EQ(said, std::vector<std::string>());
}

TEST_P(Supervisor, TakesStillnessForAHangAndSaysWhereItIs) {
  SuperviseOptions idle = options("echo begun; exec sleep 50");
  idle.idle_seconds = 0.3;
  idle.log = folder_.path() / "log";
  const Ending ending = run_supervised(idle);
  EXPECT_EQ(ending.cut, Cut::idle);
  EXPECT_EQ(exit_code(ending), kExitHung);
  EXPECT_NE(ending.hang_report.find("sleep 50"), std::string::npos) << ending.hang_report;
  EXPECT_NE(ending.hang_report.find("thread"), std::string::npos) << ending.hang_report;
}

TEST_P(Supervisor, TakesNeitherWorkNorOutputForAHang) {
  SuperviseOptions busy = options("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.2; done");
  busy.idle_seconds = 1;
  EXPECT_EQ(exit_code(run_supervised(busy)), 0) << "it writes";
  busy = options("timeout 3 sh -c 'while :; do :; done'; true");
  busy.idle_seconds = 1;
  EXPECT_EQ(exit_code(run_supervised(busy)), 0) << "it computes";
}

TEST_P(Supervisor, WritesTheLogAndKnowsItsEnd) {
  SuperviseOptions logged = options("echo to output; echo to errors >&2");
  logged.log = folder_.path() / "log";
  EXPECT_EQ(run_supervised(logged).output_tail, "to output\nto errors\n");
  EXPECT_EQ(run_supervised(logged).output_tail, "to output\nto errors\n") << "its own part alone";
  EXPECT_EQ(read_text(*logged.log), "to output\nto errors\nto output\nto errors\n");
}

TEST_P(Supervisor, ManyRunsLeaveNothing) {
  run("true");
  const size_t before = open_files();
  for (int i = 0; i < 15; ++i) run("true");
  EXPECT_EQ(open_files(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_EQ(errno, ECHILD);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "plimsoll/runs"));
  const GroupPlan groups = plan_groups(Host::real(), "x", GetParam(), true);
  for (const auto& group : {groups.tree_folder, groups.memory_folder}) {
    if (group.empty()) continue;
    for (const auto& entry : std::filesystem::directory_iterator(group.parent_path())) {
      const std::string mine = fmt::format("-{}-", getpid());
      EXPECT_EQ(entry.path().filename().string().find(mine), std::string::npos) << entry.path();
    }
  }
}

// Signals 32 and 33 belong to the C library, which gives them handlers once there are threads.
TEST_P(Supervisor, TheCommandFindsSignalsAsWeFoundThem) {
  SuperviseOptions look = options("grep -E 'Sig(Blk|Ign)' /proc/self/status");
  look.log = folder_.path() / "log";
  const std::string ours = read_text("/proc/self/status").value_or("");
  const auto signals = [](const std::string& text, const std::string& key) {
    constexpr uint64_t kOfTheCLibrary = uint64_t{0b11} << 31;
    return std::stoull(text.substr(text.find(key) + key.size()), nullptr, 16) & ~kOfTheCLibrary;
  };
  const std::string seen = run_supervised(look).output_tail;
  EXPECT_EQ(signals(seen, "SigBlk:"), signals(ours, "SigBlk:"));
  EXPECT_EQ(signals(seen, "SigIgn:"), signals(ours, "SigIgn:"));
}

INSTANTIATE_TEST_SUITE_P(, Supervisor, testing::ValuesIn(kLevels),
                         [](const auto& level) { return std::string(name(level.param)); });

}  // namespace
}  // namespace plimsoll::process
