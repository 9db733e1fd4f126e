// The last steps of the command's own process, between fork and exec: everything that the keeper
// and plimsoll changed for themselves is undone, so that the command starts as if it had been run
// bare.
#pragma once

#include <csignal>
#include <string>
#include <vector>

namespace plimsoll::process {

struct Launch {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // all of it, "NAME=value"
  int output_fd = -1;                    // becomes its standard output; -1: as ours
  int error_fd = -1;
  sigset_t signal_mask = {};          // as plimsoll found it
  bool child_signal_ignored = false;  // SIGCHLD, as plimsoll found it
  bool in_pid_namespace = false;
};

// Ends the process where the other end of `go_fd` is closed without a word, becomes the command
// where there is one. What exec refuses is written to `failure_fd` as an errno.
[[noreturn]] void become_command(const Launch& launch, int go_fd, int failure_fd);

// The environment of this process with `changes` ("NAME=value") made to it.
std::vector<std::string> environment_with(const std::vector<std::string>& changes);

// The first process of a pid namespace. The kernel ends everything in the namespace when it ends,
// and it ends itself with the keeper: even if plimsoll and keeper are killed at once, nothing
// stays.

struct InitPipes {
  int go_fd = -1;       // a word lets the command begin
  int failure_fd = -1;  // what exec refused
  int report_fd = -1;   // the command's wait status
};

// From now on children of this process are in a new namespace; only the first fork is to be made.
// Takes a namespace of users besides where this user needs one. Throws Error{refused}.
void enter_pid_namespace();

// Mounts a /proc that shows the namespace, starts the command as its child, reaps, and ends when
// nobody is left. Not the command itself: the kernel drops the signals that a first process does
// not handle.
[[noreturn]] void run_namespace_init(const Launch& launch, const InitPipes& pipes);

}  // namespace plimsoll::process
