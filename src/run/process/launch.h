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

}  // namespace plimsoll::process
