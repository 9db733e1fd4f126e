#include "process/ending.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace plimsoll::process {
namespace {

Ending ended(LeaderEnd leader) {
  Ending ending;
  ending.leader = std::move(leader);
  return ending;
}

TEST(Ending, ReturnsTheCommandsOwnCode) {
  EXPECT_EQ(exit_code(ended(Exited{0})), 0);
  EXPECT_EQ(exit_code(ended(Exited{3})), 3);
  EXPECT_EQ(exit_code(ended(Signaled{SIGSEGV})), 139);
  EXPECT_EQ(exit_code(ended(NotStarted{ENOENT, "nowhere"})), 127);
  EXPECT_EQ(exit_code(ended(NotStarted{EACCES, "notes.txt"})), 126);
}

TEST(Ending, HasACodeForEachReasonOfOurs) {
  Ending ending = ended(Signaled{SIGTERM});
  ending.cut = Cut::timeout;
  EXPECT_EQ(exit_code(ending), kExitTimeout);
  ending.cut = Cut::idle;
  EXPECT_EQ(exit_code(ending), kExitHung);
  ending.cut = Cut::memory_watch;
  EXPECT_EQ(exit_code(ending), kExitMemoryLimit);
  ending.cut = Cut::interrupted;
  EXPECT_EQ(exit_code(ending), 143) << "what a signal asked for is between it and the command";
}

TEST(Ending, TellsItsOwnLimitFromTheHosts) {
  Ending ending = ended(Signaled{SIGKILL});
  ending.memory = {.limit_bytes = 1 << 20,
                   .enforced_by_kernel = true,
                   .own_limit_hits = 9,
                   .group_oom_kills = 1};
  EXPECT_EQ(exit_code(ending), kExitMemoryLimit);
  ending.memory.own_limit_hits = 0;
  EXPECT_EQ(exit_code(ending), 137) << "killed by the host, far below its own limit";
  ending.memory.own_limit_hits = 9;
  ending.leader = Exited{0};
  EXPECT_EQ(exit_code(ending), kExitMemoryLimit) << "it lost a worker, whatever it made of that";
}

}  // namespace
}  // namespace plimsoll::process
