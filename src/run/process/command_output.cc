#include "process/command_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/error.h"
#include "process/own_stream.h"

namespace plimsoll::process {
namespace {

constexpr size_t kBlockBytes = size_t{64} << 10;
constexpr int kLookAgainMs = 250;  // for file systems that do not report changes
constexpr std::chrono::seconds kLastReadPatience{10};  // after the command has ended
constexpr unsigned kMemoryDevices = 1;  // major number of /dev/null and similar devices
constexpr unsigned kNullDevice = 3;

uint64_t size_of(int fd) {
  struct stat status = {};
  return fstat(fd, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

bool is_file(int fd) {
  struct stat status = {};
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

// For regular files only: they do not block.
bool write_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t count = write(fd, data, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    data += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

bool is_ready(int fd, int16_t events, int timeout_ms) {
  pollfd event = {.fd = fd, .events = events, .revents = 0};
  return poll(&event, 1, timeout_ms) > 0;
}

// Whether nobody can read what is written to it: /dev/null, or a closed stream.
bool leads_nowhere(int fd) {
  struct stat status = {};
  return fstat(fd, &status) != 0 ||
         (S_ISCHR(status.st_mode) && status.st_rdev == makedev(kMemoryDevices, kNullDevice));
}

// Opens our standard error for reading if it is a file, otherwise our standard output if that is.
Fd reopen_own_stream() {
  for (const int stream : {STDERR_FILENO, STDOUT_FILENO}) {
    if (is_file(stream)) {
      return Fd(open(fmt::format("/proc/self/fd/{}", stream).c_str(), O_RDONLY | O_CLOEXEC));
    }
  }
  return {};
}

Fd open_log(const std::filesystem::path& path) {
  Fd log(open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!log) fail_errno("write the log", path.string(), errno);
  if (!is_file(log.get())) fail(ErrorKind::io, "the log {} is not a regular file", path.string());
  return log;
}

}  // namespace

CommandOutput::CommandOutput(const std::optional<std::filesystem::path>& log)
    : log_(log ? open_log(*log) : reopen_own_stream()), has_log_(log.has_value()) {
  if (log_) begin_ = size_of(log_.get());
  if (!has_log_) return;
  if (isatty(STDOUT_FILENO) != 0 || isatty(STDERR_FILENO) != 0) open_terminal();
  // No inotify if nothing is shown: the kernel takes ten milliseconds or more to close one.
  if (leads_nowhere(STDOUT_FILENO)) return;
  growth_ = Fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (growth_) inotify_add_watch(growth_.get(), log->c_str(), IN_MODIFY);
  stop_ = Fd(eventfd(0, EFD_CLOEXEC));
}

CommandOutput::~CommandOutput() {
  if (showing_.joinable()) finish_showing();
}

void CommandOutput::open_terminal() {
  Fd ours(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (!ours || grantpt(ours.get()) != 0 || unlockpt(ours.get()) != 0) return;
  Fd theirs(ioctl(ours.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!theirs) return;  // the command runs without colours
  termios mode = {};
  tcgetattr(theirs.get(), &mode);
  cfmakeraw(&mode);  // the real terminal handles line ends and the rest
  tcsetattr(theirs.get(), TCSANOW, &mode);
  terminal_ = std::move(ours);
  command_side_ = std::move(theirs);
  resize();
}

int CommandOutput::output_fd() const {
  if (!has_log_) return -1;
  return command_side_ && isatty(STDOUT_FILENO) != 0 ? command_side_.get() : log_.get();
}

int CommandOutput::error_fd() const {
  if (!has_log_) return -1;
  return command_side_ && isatty(STDERR_FILENO) != 0 ? command_side_.get() : log_.get();
}

void CommandOutput::drain() {
  if (!terminal_) return;
  std::vector<char> block(kBlockBytes);
  for (;;) {
    const ssize_t count = read(terminal_.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    write_all(log_.get(), block.data(), static_cast<size_t>(count));
  }
}

void CommandOutput::resize() {
  winsize size = {};
  const int from = isatty(STDOUT_FILENO) != 0 ? STDOUT_FILENO : STDERR_FILENO;
  if (terminal_ && ioctl(from, TIOCGWINSZ, &size) == 0) ioctl(terminal_.get(), TIOCSWINSZ, &size);
}

void CommandOutput::begin_showing() {
  command_side_ = Fd();  // so that our side closes when the last process of the command closes it
  if (!stop_) return;
  showing_ = std::thread([this] { hidden_bytes_ = show(); });
}

uint64_t CommandOutput::finish_showing() {
  if (!showing_.joinable()) return 0;
  eventfd_write(stop_.get(), 1);
  showing_.join();
  return hidden_bytes_;
}

void CommandOutput::wait_for_growth() const {
  std::array<pollfd, 2> events = {
      {{.fd = stop_.get(), .events = POLLIN}, {.fd = growth_.get(), .events = POLLIN}}};
  poll(events.data(), events.size(), kLookAgainMs);
  std::array<char, 4096> ignored;
  if (events[1].revents == 0) return;
  while (read(growth_.get(), ignored.data(), ignored.size()) > 0) {
  }
}

// Returns the number of bytes not shown. While the command runs, the reader may be slow.
uint64_t CommandOutput::show() const {
  using Clock = std::chrono::steady_clock;
  const OwnStream reader(STDOUT_FILENO);
  std::string block(kBlockBytes, '\0');
  uint64_t shown = begin_;
  auto last_taken = Clock::now();
  for (;;) {
    const bool stopping = is_ready(stop_.get(), POLLIN, 0);  // check before reading the file
    const uint64_t size = size_of(log_.get());
    shown = std::min(shown, size);  // the file may have been truncated
    const ssize_t count = pread(log_.get(), block.data(), block.size(), static_cast<off_t>(shown));
    if (count <= 0) {
      if (stopping || count < 0) return 0;
      wait_for_growth();
      last_taken = Clock::now();
      continue;
    }
    const auto taken = reader.write_some({block.data(), static_cast<size_t>(count)});
    if (!taken) return 0;
    shown += *taken;
    if (*taken > 0) {
      last_taken = Clock::now();
    } else if (!stopping) {
      std::array<pollfd, 2> events = {
          {{.fd = stop_.get(), .events = POLLIN}, {.fd = reader.fd(), .events = POLLOUT}}};
      poll(events.data(), events.size(), -1);
      last_taken = Clock::now();
    } else if (Clock::now() > last_taken + kLastReadPatience) {
      return size - shown;
    } else {
      is_ready(reader.fd(), POLLOUT, kLookAgainMs);
    }
  }
}

std::optional<uint64_t> CommandOutput::seen_bytes() const {
  if (!log_) return {};
  const uint64_t size = size_of(log_.get());
  return size - std::min(size, begin_);
}

std::string CommandOutput::tail(size_t most_bytes) const {
  const uint64_t seen = seen_bytes().value_or(0);
  std::string text(std::min<uint64_t>(seen, most_bytes), '\0');
  const uint64_t from = begin_ + seen - text.size();
  const ssize_t count =
      text.empty() ? 0 : pread(log_.get(), text.data(), text.size(), static_cast<off_t>(from));
  text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return text;
}

void CommandOutput::note(const std::string& text) const {
  if (has_log_) write_all(log_.get(), text.data(), text.size());
}

}  // namespace plimsoll::process
