// Saves the terminal's state before the command starts and restores it afterwards. A command that
// was killed may have left the terminal in raw mode or owned by a process group that has ended.
#pragma once

#include <sys/types.h>
#include <termios.h>

namespace plimsoll::process {

class TerminalState {
 public:
  TerminalState();  // does nothing, now or later, if standard input is not a terminal of ours
  void restore() const;

 private:
  termios modes_ = {};
  bool ours_ = false;  // must follow modes_: the initializer of ours_ fills it
};

}  // namespace plimsoll::process
