#include "process/keeper.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace plimsoll::process {
namespace {

TEST(Keeper, AnOldErrorDoesNotKeepItWaitingForAPlimsollThatHasHungUp) {
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Fd ours(ends[0]);
  close(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    errno = EINTR;  // of some call before
    wait_for_hang_up(ours.get());
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "it did not notice, and was ended after ten seconds";
}

}  // namespace
}  // namespace plimsoll::process
