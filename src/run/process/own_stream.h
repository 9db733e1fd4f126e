// A stream of ours, standard output or error, whose reader may be slow or may not read at all.
// Writing to it never waits: a supervisor that waits for a reader supervises nothing. The stream's
// own flags stay as they are, because other processes share them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/fd.h"

namespace plimsoll::process {

class OwnStream {
 public:
  // To be made after the last fork: a copy of it in the keeper would hide our end from the reader.
  explicit OwnStream(int fd);

  // How much was taken, 0 where there is no room now; nothing where the reader has gone or the
  // stream cannot be written. A SIGPIPE that this causes does not arrive.
  std::optional<size_t> write_some(std::string_view text) const;

  // Readable by poll: POLLOUT says that there is room.
  int fd() const { return own_ ? own_.get() : fd_; }

 private:
  enum class Kind : uint8_t { file, socket, opened_again, polled };

  int fd_;
  Kind kind_ = Kind::file;
  Fd own_;  // the same pipe or terminal, opened once more without waiting
};

// How long a reader may take nothing before the rest of a line of ours is dropped.
constexpr std::chrono::milliseconds kReaderPatience{2000};

// All of `text`, as long as the reader takes some of it within every `patience`; false where the
// rest was dropped.
bool write_patiently(int fd, std::string_view text,
                     std::chrono::milliseconds patience = kReaderPatience);

}  // namespace plimsoll::process
