// Where the command's output goes.
//
// Without a log, the command inherits our streams. With a log, it writes directly to the file,
// which is opened for appending: nothing is lost if plimsoll is killed. plimsoll shows the file as
// it grows. If our output is a terminal, the command gets a pseudo-terminal instead, so that it
// still prints colours and progress bars, and the keeper copies its output to the log. The
// pseudo-terminal carries output only: input, Ctrl-C and Ctrl-Z stay with the real terminal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "base/fd.h"

namespace plimsoll::process {

class CommandOutput {
 public:
  // Throws Error if the log cannot be opened.
  explicit CommandOutput(const std::optional<std::filesystem::path>& log);
  ~CommandOutput();
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;

  // The descriptors for the command's standard output and error; -1: it inherits ours.
  int output_fd() const;
  int error_fd() const;

  // Copies everything that the pseudo-terminal holds to the log. Only one process may call it at a
  // time: the keeper, or plimsoll after the keeper has ended.
  void drain();
  int drain_fd() const { return terminal_.get(); }

  // Copies the size of our terminal to the pseudo-terminal.
  void resize();

  // Copies the log to our standard output as it grows, in its own thread; does nothing if standard
  // output is /dev/null. Call begin_showing() after the last fork. finish_showing() returns when
  // everything was shown, when our reader closed the stream, or when the reader took nothing for
  // some seconds. In the last case it returns the number of bytes not shown, otherwise 0.
  void begin_showing();
  uint64_t finish_showing();

  // Bytes written so far to the log or, without a log, to our own streams if they are files. Empty
  // if the output cannot be observed.
  std::optional<uint64_t> seen_bytes() const;

  // The end of that output, at most `most_bytes`.
  std::string tail(size_t most_bytes) const;

  // Writes a line of plimsoll's own to the log only.
  void note(const std::string& text) const;

 private:
  void open_terminal();
  uint64_t show() const;
  void wait_for_growth() const;

  Fd log_;  // without a log: our own output file, if it is one
  bool has_log_ = false;
  uint64_t begin_ = 0;  // size of the file before the command started
  Fd terminal_;         // our side of the pseudo-terminal
  Fd command_side_;
  Fd growth_;                  // inotify
  Fd stop_;                    // eventfd; not open if nothing is shown
  uint64_t hidden_bytes_ = 0;  // written by showing_; read it after the thread has ended
  std::thread showing_;
};

}  // namespace plimsoll::process
