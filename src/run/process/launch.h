// The last steps in the command's process, between fork and exec. They undo everything that
// plimsoll and the keeper changed for themselves: the command starts as if it was run without
// plimsoll.
#pragma once

#include <csignal>
#include <string>
#include <vector>

namespace plimsoll::process {

struct Launch {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // complete, "NAME=value"
  int output_fd = -1;                    // becomes its standard output; -1: it inherits ours
  int error_fd = -1;
  sigset_t signal_mask = {};          // as plimsoll found it
  bool child_signal_ignored = false;  // SIGCHLD, as plimsoll found it
  bool in_pid_namespace = false;
};

// Waits for a byte from `go_fd`, then becomes the command. Exits with 125 if `go_fd` closes without
// a byte. If exec fails, writes its errno to `failure_fd` and exits with 127.
[[noreturn]] void become_command(const Launch& launch, int go_fd, int failure_fd);

// The first process of a pid namespace, its init. When it ends, the kernel kills everything in the
// namespace. It dies with the keeper, so nothing is left even if plimsoll and the keeper are killed
// at the same time.

struct InitPipes {
  int go_fd = -1;       // read: one byte lets the command begin
  int failure_fd = -1;  // write: errno of a failed exec
  int report_fd = -1;   // write: the command's wait status
};

// Puts the next child of this process into a new pid namespace. Fork only once afterwards: that
// child is the namespace's init. Also makes a user namespace if this user needs one for that.
// Throws Error{refused}.
void enter_pid_namespace();

// Mounts a /proc for the namespace, starts the command as its child, reaps processes, and ends when
// none is left. The command itself cannot be the init: the kernel drops signals that a namespace's
// first process does not handle.
[[noreturn]] void run_namespace_init(const Launch& launch, const InitPipes& pipes);

}  // namespace plimsoll::process
