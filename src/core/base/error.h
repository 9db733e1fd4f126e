// The one error type. Expected endings are values; an Error means that the work cannot continue.
// main (or a thread's join) catches it, and its kind becomes the exit code.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace plimsoll {

// Each kind has one exit code, documented in docs/reference/errors.md.
enum class ErrorKind {
  internal,  // a bug of ours
  usage,     // the command line
  input,     // what the user's files hold
  memory,    // the limit is too small for the work
  disk,      // the disk is full
  io,        // the operating system refused: permission, missing file, read error
  exists,    // the output exists already
  store,     // a store of another version, a wrong size or a wrong checksum
  stopped,   // a signal asked a training to stop, and what --resume needs was written
  diverged,  // a training's loss is no longer a number
  lost,      // another rank of a training ended or no longer answers
  refused,   // a command could not be started under supervision
};

int exit_code(ErrorKind kind);
std::string_view name(ErrorKind kind);

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// Thrown after a command has reported its result, to end with this exit code.
struct ExitWith {
  int code = 0;
};

template <typename... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

// Turns the errno of a failed system call on `path` into an Error: a full disk is kind disk, the
// rest kind io. `what` reads as in "cannot {what} {path}".
[[noreturn]] void fail_errno(std::string_view what, std::string_view path, int error_number);

}  // namespace plimsoll
