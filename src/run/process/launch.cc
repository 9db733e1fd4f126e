#include "process/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/child.h"
#include "base/error.h"
#include "process/tree_group.h"

namespace plimsoll::process {

void become_command(const Launch& launch, int go_fd, int failure_fd) {
  // If the keeper and plimsoll are killed at the same time, at least the leader gets a signal.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  char go = 0;
  ssize_t count = 0;
  do {
    count = read(go_fd, &go, 1);
  } while (count < 0 && errno == EINTR);
  if (count != 1) _exit(125);
  if (launch.output_fd >= 0) dup2(launch.output_fd, STDOUT_FILENO);
  if (launch.error_fd >= 0) dup2(launch.error_fd, STDERR_FILENO);
  std::signal(SIGCHLD, launch.child_signal_ignored ? SIG_IGN : SIG_DFL);
  const auto words = null_ended(launch.command);
  const auto variables = null_ended(launch.environment);
  sigprocmask(SIG_SETMASK, &launch.signal_mask, nullptr);
  environ = const_cast<char**>(variables.data());  // execvp searches the command's own PATH
  execvp(words.front(), words.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = write(failure_fd, &error, sizeof error);
  _exit(127);
}

namespace {

// Maps the user and group to themselves; no other ids exist in the namespace.
void keep_identity(uid_t user, gid_t group) {
  write_kernel_file("/proc/self/setgroups", "deny");
  write_kernel_file("/proc/self/uid_map", fmt::format("{} {} 1", user, user));
  write_kernel_file("/proc/self/gid_map", fmt::format("{} {} 1", group, group));
}

// Programs look themselves up in /proc by their pid in this namespace.
void mount_own_proc() {
  if (unshare(CLONE_NEWNS) != 0) return;
  mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr);
  mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
}

}  // namespace

void enter_pid_namespace() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWPID) == 0) return;
  if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
    fail(ErrorKind::refused, "cannot make a pid namespace: {}", std::strerror(errno));
  }
  keep_identity(user, group);
}

void run_namespace_init(const Launch& launch, const InitPipes& pipes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "run-init");
  mount_own_proc();
  const pid_t leader = fork();
  if (leader == 0) {
    close(pipes.report_fd);
    become_command(launch, pipes.go_fd, pipes.failure_fd);
  }
  close(pipes.failure_fd);
  close(pipes.go_fd);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, stream);
  int code = 0;  // for plimsoll, if the keeper is gone before it has read the report
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) _exit(code);
    if (pid == leader) {
      code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      [[maybe_unused]] const ssize_t count = write(pipes.report_fd, &status, sizeof status);
    }
  }
}

}  // namespace plimsoll::process
