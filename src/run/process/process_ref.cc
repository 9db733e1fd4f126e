#include "process/process_ref.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace plimsoll::process {
namespace {

int open_pidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0U)); }

}  // namespace

ProcessId ProcessId::of_this_process() {
  const auto stat = read_stat(getpid());
  return {.boot = boot_id(),
          .pid = getpid(),
          .start_ticks = stat ? stat->start_ticks : 0,
          .pid_namespace = plimsoll::pid_namespace()};
}

std::optional<ProcessRef> ProcessRef::open(const ProcessId& id) {
  if (id.boot != boot_id() || id.pid_namespace != plimsoll::pid_namespace()) return {};
  return open(id.pid, id.start_ticks);
}

std::optional<ProcessRef> ProcessRef::open(const ProcessStat& stat) {
  return open(stat.pid, stat.start_ticks);
}

std::optional<ProcessRef> ProcessRef::open(pid_t pid, uint64_t start_ticks) {
  if (pid <= 0) return {};
  Fd pidfd(open_pidfd(pid));
  if (!pidfd) return {};
  // Read after the pidfd was opened: this is the pidfd's process, or that process has ended.
  const auto stat = read_stat(pid);
  if (!stat || stat->start_ticks != start_ticks) return {};
  return ProcessRef(pid, std::move(pidfd));
}

bool ProcessRef::signal(int number) const {
  return syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0U) == 0;
}

bool ProcessRef::wait(std::chrono::milliseconds timeout) const {
  pollfd ended = {.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  return poll(&ended, 1, static_cast<int>(timeout.count())) > 0;
}

Presence presence_of(const ProcessId& id) {
  if (id.boot != boot_id()) return Presence::ended;
  if (id.pid_namespace != plimsoll::pid_namespace()) return Presence::elsewhere;
  const auto process = ProcessRef::open(id);
  const bool running = process && !process->wait(std::chrono::milliseconds(0));
  return running ? Presence::running : Presence::ended;
}

bool pidfds_work() { return static_cast<bool>(Fd(open_pidfd(getpid()))); }

}  // namespace plimsoll::process
