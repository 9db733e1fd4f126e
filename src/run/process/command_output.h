// Where the command's output goes.
//
// Without a log it keeps our own streams: plimsoll is not in the way. With a log it writes straight
// into the file, opened for appending, so that nothing is lost when plimsoll is killed, and
// plimsoll shows the file as it grows. Where our output is a terminal, the command gets a
// pseudo-terminal instead, for its colours and progress bars, and the keeper moves what it writes
// to the log. That one carries output alone: input, Ctrl-C and Ctrl-Z stay with the real terminal.
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
  // Throws Error where the log cannot be opened.
  explicit CommandOutput(const std::optional<std::filesystem::path>& log);
  ~CommandOutput();
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;

  // What becomes the command's streams; -1: ours.
  int output_fd() const;
  int error_fd() const;

  // Moves what the pseudo-terminal holds to the log, as long as there is anything. By one process
  // at a time: the keeper, or plimsoll after it.
  void drain();
  int drain_fd() const { return terminal_.get(); }

  // Hands our terminal's size on to the command's.
  void resize();

  // Shows the log on our standard output as it grows, on a thread of its own; not where that is
  // /dev/null. Begin after the last fork; finish() returns when all has been shown, or our reader
  // has gone, or has taken nothing for some seconds: then it returns how many bytes it missed.
  void begin_showing();
  uint64_t finish_showing();

  // Bytes that went to the log so far, or, without one, to our own streams where those are files;
  // nothing where that cannot be seen.
  std::optional<uint64_t> seen_bytes() const;

  // The last of them, at most `most_bytes`.
  std::string tail(size_t most_bytes) const;

  // A line of ours, to the log alone.
  void note(const std::string& text) const;

 private:
  void open_terminal();
  uint64_t show() const;
  void wait_for_growth() const;

  Fd log_;  // or, without one, the file that our own stream is
  bool has_log_ = false;
  uint64_t begin_ = 0;  // what the file held before
  Fd terminal_;         // our side of the pseudo-terminal
  Fd command_side_;
  Fd growth_;                  // inotify
  Fd stop_;                    // eventfd; none where nothing is shown
  uint64_t hidden_bytes_ = 0;  // of showing_, to be read when it has ended
  std::thread showing_;
};

}  // namespace plimsoll::process
