// The first process of a pid namespace. The kernel ends everything in the namespace when it ends,
// and it ends itself with the keeper: even if plimsoll and keeper are killed at once, nothing
// stays.
#pragma once

#include "process/launch.h"

namespace plimsoll::process {

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
