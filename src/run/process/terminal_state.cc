#include "process/terminal_state.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace plimsoll::process {

TerminalState::TerminalState()
    : ours_(tcgetpgrp(STDIN_FILENO) == getpgrp() && tcgetattr(STDIN_FILENO, &modes_) == 0) {}

void TerminalState::restore() const {
  if (!ours_) return;
  const pid_t owner = tcgetpgrp(STDIN_FILENO);
  const bool owner_gone = owner > 0 && kill(-owner, 0) != 0 && errno == ESRCH;
  if (owner != getpgrp() && !owner_gone) return;  // we are in the background: the shell owns it
  // Taking the terminal over from a group that has ended would stop us with SIGTTOU.
  sigset_t stop;
  sigset_t before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &stop, &before);
  tcsetpgrp(STDIN_FILENO, getpgrp());
  tcsetattr(STDIN_FILENO, TCSADRAIN, &modes_);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace plimsoll::process
