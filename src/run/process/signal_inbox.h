// The signals that a supervising plimsoll gets, as something to be read in its loop instead of
// handlers that run in its middle.
#pragma once

#include <csignal>
#include <optional>

#include "base/fd.h"

namespace plimsoll::process {

struct ArrivedSignal {
  int number = 0;
  // By the kernel, for a key or a terminal that closed: the command, in the same process group, got
  // it as well.
  bool from_terminal = false;
};

// Blocks the signals until it goes. Those that were ignored when we started stay so, for the
// command too: SIGHUP under nohup, SIGINT in a shell's background.
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

// SIGCHLD, which must be blocked, as something to be polled for and then read until it is empty.
Fd open_child_signals();
void read_child_signals(const Fd& signals);

}  // namespace plimsoll::process
