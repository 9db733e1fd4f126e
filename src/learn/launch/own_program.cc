#include "launch/own_program.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/child.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/interrupt.h"

namespace plimsoll::launch {
namespace {

constexpr int kLookMilliseconds = 200;

// After fork: only calls that are safe there. The child has a process group of its own, so that
// Ctrl-C reaches it once, through us; it ends with us.
[[noreturn]] void become_program(char* const* words, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(128 + SIGTERM);
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv(kThisProgram, words);
  _exit(127);
}

}  // namespace

int run_own_program(const std::vector<std::string>& words) {
  const std::vector<char*> pointers = null_ended(words);
  std::fflush(stdout);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail_errno("start", kThisProgram, errno);
  if (child == 0) become_program(pointers.data(), parent);
  const Fd handle(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  int passed_on = 0;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    pollfd event{.fd = handle.get(), .events = POLLIN};
    poll(&event, 1, kLookMilliseconds);
    const int signal = pending_interrupt();
    if (signal == 0 || signal == passed_on) continue;
    passed_on = signal;
    syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0);
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace plimsoll::launch
