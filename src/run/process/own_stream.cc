#include "process/own_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>

namespace plimsoll::process {
namespace {

// Suppresses the SIGPIPE of a failed write in this thread.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_signal_);
    sigaddset(&pipe_signal_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal_, &before_);
  }
  ~WithoutPipeSignal() {
    const timespec at_once = {};
    const int error = errno;
    if (!was_pending_) sigtimedwait(&pipe_signal_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

 private:
  sigset_t pipe_signal_ = {};
  sigset_t before_ = {};
  bool was_pending_ = false;
};

bool has_room(int fd, std::chrono::milliseconds timeout) {
  pollfd room = {.fd = fd, .events = POLLOUT, .revents = 0};
  return poll(&room, 1, static_cast<int>(timeout.count())) > 0;
}

}  // namespace

OwnStream::OwnStream(int fd) : fd_(fd) {
  struct stat status = {};
  if (fstat(fd, &status) != 0) return;
  if (S_ISSOCK(status.st_mode)) {
    kind_ = Kind::socket;
  } else if (S_ISFIFO(status.st_mode) || isatty(fd) != 0) {
    own_ = Fd(open(fmt::format("/proc/self/fd/{}", fd).c_str(),
                   O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    // Another user's pipe or terminal cannot be opened again. Then poll() tells when there is room
    // for a small write.
    kind_ = own_ ? Kind::opened_again : Kind::polled;
  }
}

std::optional<size_t> OwnStream::write_some(std::string_view text) const {
  const WithoutPipeSignal quiet;
  if (kind_ == Kind::polled && !has_room(fd_, std::chrono::milliseconds(0))) return 0;
  const size_t most =
      kind_ == Kind::polled ? std::min<size_t>(text.size(), _POSIX_PIPE_BUF) : text.size();
  ssize_t count = 0;
  do {
    count = kind_ == Kind::socket ? send(fd_, text.data(), most, MSG_DONTWAIT | MSG_NOSIGNAL)
                                  : write(fd(), text.data(), most);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
  return count < 0 ? std::nullopt : std::optional(static_cast<size_t>(count));
}

bool write_patiently(int fd, std::string_view text, std::chrono::milliseconds patience) {
  const OwnStream stream(fd);
  while (!text.empty()) {
    const auto count = stream.write_some(text);
    if (!count) return false;
    text.remove_prefix(*count);
    if (*count == 0 && !has_room(stream.fd(), patience)) return false;
  }
  return true;
}

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
