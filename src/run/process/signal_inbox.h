// The signals that a supervising plimsoll receives. Its loop reads them from a descriptor; there
// are no signal handlers.
#pragma once

#include <csignal>
#include <optional>

#include "base/fd.h"

namespace plimsoll::process {

struct ArrivedSignal {
  int number = 0;
  // Sent by the kernel, for a key press or because the terminal closed. The command is in the same
  // process group and got the signal too.
  bool from_terminal = false;
};

// Blocks the signals until it is destroyed. Signals that were ignored when plimsoll started stay
// ignored, for the command too: SIGHUP under nohup, SIGINT in a background job of a shell.
class SignalInbox {
 public:
  SignalInbox();
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  int fd() const { return fd_.get(); }
  std::optional<ArrivedSignal> next();

  const sigset_t& mask_before() const { return mask_before_; }
  bool child_signal_was_ignored() const { return child_signal_was_ignored_; }

 private:
  Fd fd_;
  sigset_t mask_before_ = {};
  bool child_signal_was_ignored_ = false;
};

// Blocks the signals that ask a process to end, and returns the mask before. Those that arrive are
// read later by a SignalInbox, or never.
sigset_t block_ending_signals();

// A descriptor for SIGCHLD: poll it, then empty it with read_child_signals(). SIGCHLD must be
// blocked.
Fd open_child_signals();
void read_child_signals(const Fd& signals);

}  // namespace plimsoll::process
