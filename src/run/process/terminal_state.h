// The terminal as the command found it: put back after a command that was killed in the middle of
// something, in raw mode or with the terminal handed to a process group that is gone.
#pragma once

#include <sys/types.h>
#include <termios.h>

namespace plimsoll::process {

class TerminalState {
 public:
  TerminalState();  // does nothing, then or later, where standard input is no terminal of ours
  void restore() const;

 private:
  termios modes_ = {};
  bool ours_ = false;  // after modes_, which its initializer fills
};

}  // namespace plimsoll::process
