#include "process/process_ref.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "process/tree.h"
#include "process/tree_group.h"

namespace plimsoll::process {
namespace {

using std::chrono::milliseconds;

pid_t start_sleeper() {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  alarm(20);
  for (;;) pause();
}

void end_and_reap(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

ProcessId id_of(pid_t pid) {
  return {.boot = boot_id(),
          .pid = pid,
          .start_ticks = read_stat(pid)->start_ticks,
          .pid_namespace = pid_namespace()};
}

TEST(ProcessRef, SignalsTheProcessItWasOpenedFor) {
  const pid_t pid = start_sleeper();
  const auto process = ProcessRef::open(id_of(pid));
  ASSERT_TRUE(process);
  EXPECT_FALSE(process->wait(milliseconds(0)));
  EXPECT_TRUE(process->signal(SIGTERM));
  EXPECT_TRUE(process->wait(milliseconds(5000)));
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(process->signal(SIGTERM)) << "it has ended";
}

TEST(ProcessRef, IsNotOpenedForAnotherStartOrAnotherBoot) {
  const pid_t pid = start_sleeper();
  ProcessId earlier = id_of(pid);
  earlier.start_ticks -= 1;
  EXPECT_FALSE(ProcessRef::open(earlier));
  ProcessId other_boot = id_of(pid);
  other_boot.boot = "another";
  EXPECT_FALSE(ProcessRef::open(other_boot));
  EXPECT_EQ(presence_of(other_boot), Presence::ended);
  EXPECT_EQ(presence_of(id_of(pid)), Presence::running);
  const ProcessId id = id_of(pid);
  end_and_reap(pid);
  EXPECT_EQ(presence_of(id), Presence::ended);
}

TEST(ProcessRef, DoesNotJudgeAPidOfAnotherNamespace) {
  const pid_t pid = start_sleeper();
  ProcessId other_namespace = id_of(pid);
  other_namespace.pid_namespace += 1;
  EXPECT_FALSE(ProcessRef::open(other_namespace));
  EXPECT_EQ(presence_of(other_namespace), Presence::elsewhere);
  other_namespace.boot = "another";
  EXPECT_EQ(presence_of(other_namespace), Presence::ended) << "no namespace outlives its kernel";
  end_and_reap(pid);
}

// Runs `body` as the first process of a new pid namespace with a /proc of its own, where it can say
// which pid comes next. 77 stands for a machine that gives none.
int in_pid_namespace(const std::function<int()>& body) {
  const pid_t outer = fork();
  if (outer == 0) {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) _exit(77);
    const pid_t first = fork();
    if (first == 0) {
      mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
      if (mount("proc", "/proc", "proc", 0, nullptr) != 0) _exit(77);
      _exit(body());
    }
    int status = 0;
    waitpid(first, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
  }
  int status = 0;
  waitpid(outer, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

// A process that gets the pid `wanted`, whoever had it before.
pid_t start_sleeper_as(pid_t wanted) {
  usleep(30'000);  // start times are counted in hundredths of a second
  if (!write_kernel_file("/proc/sys/kernel/ns_last_pid", std::to_string(wanted - 1))) return 0;
  return start_sleeper();
}

TEST(ProcessRef, NeverTakesAStrangerWithARecycledPidForTheOneItKnew) {
  const int result = in_pid_namespace([] {
    const pid_t pid = start_sleeper();
    const ProcessId known = id_of(pid);
    const auto held = ProcessRef::open(known);
    end_and_reap(pid);
    const pid_t stranger = start_sleeper_as(pid);
    if (stranger != pid) return 77;
    if (ProcessRef::open(known)) return 1;  // by the name
    if (held->signal(SIGKILL)) return 2;    // by the handle that was held meanwhile
    if (presence_of(known) != Presence::ended) return 3;
    usleep(20'000);
    return kill(stranger, 0) == 0 && read_stat(stranger)->alive() ? 0 : 4;
  });
  if (result == 77) GTEST_SKIP() << "needs a pid namespace, and a say in its pids";
  EXPECT_EQ(result, 0);
}

TEST(ProcessRef, AStrangersChildIsNotKilledForAListReadBeforeItsParentsPidWasRecycled) {
  const int result = in_pid_namespace([] {
    // A member of the tree, below a root that is not us, and what the list says about it.
    const pid_t root = fork();
    if (root == 0) {
      start_sleeper();
      for (;;) pause();
    }
    usleep(50'000);
    const auto listed = descendants(all_processes(), root);
    if (listed.size() != 1) return 5;
    end_and_reap(root);
    kill(listed.front().pid, SIGKILL);
    waitpid(listed.front().pid, nullptr, 0);
    const pid_t stranger = start_sleeper_as(listed.front().pid);
    if (stranger != listed.front().pid) return 77;
    kill_members({.level = Level::sweep, .group = {}, .root = root, .init = 0});
    usleep(20'000);
    return read_stat(stranger)->alive() ? 0 : 1;
  });
  if (result == 77) GTEST_SKIP() << "needs a pid namespace, and a say in its pids";
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace plimsoll::process
