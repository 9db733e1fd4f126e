// Our own standard streams and terminal.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/fd.h"

namespace plimsoll::process {

// Our standard output or standard error, whose reader may be slow or may not read at all. Writing
// never blocks: a supervisor that waits for a reader cannot supervise. The flags of the stream are
// not changed, because other processes share them.
class OwnStream {
 public:
  // Construct it after the last fork: with a copy of it in the keeper, the reader would not see the
  // stream close when plimsoll ends.
  explicit OwnStream(int fd);

  // Returns the number of bytes written, 0 if there is no room now, and nothing if the reader
  // closed the stream or writing fails. Suppresses the SIGPIPE of a failed write.
  std::optional<size_t> write_some(std::string_view text) const;

  // For poll(): POLLOUT means that there is room.
  int fd() const { return own_ ? own_.get() : fd_; }

 private:
  enum class Kind : uint8_t { file, socket, opened_again, polled };

  int fd_;
  Kind kind_ = Kind::file;
  Fd own_;  // the same pipe or terminal, opened again with O_NONBLOCK
};

// If the reader takes nothing for this long, the rest of a message is dropped.
constexpr std::chrono::milliseconds kReaderPatience{2000};

// Writes all of `text` if the reader takes at least some of it within every `patience`; otherwise
// drops the rest and returns false.
bool write_patiently(int fd, std::string_view text,
                     std::chrono::milliseconds patience = kReaderPatience);

// Saves the terminal's state before the command starts and restores it afterwards. A command that
// was killed may have left the terminal in raw mode or owned by a process group that has ended.
class TerminalState {
 public:
  TerminalState();  // does nothing, now or later, if standard input is not a terminal of ours
  void restore() const;

 private:
  termios modes_ = {};
  bool ours_ = false;  // must follow modes_: the initializer of ours_ fills it
};

}  // namespace plimsoll::process
