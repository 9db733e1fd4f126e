// A reference to a process that cannot be confused with another one. The kernel reuses pids, and a
// pid means different processes in different PID namespaces. Boot id, namespace, pid and start time
// together identify one process uniquely, and a pidfd keeps hold of it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"
#include "process/proc_stat.h"

namespace plimsoll::process {

// A process identity that can be stored and read again later.
struct ProcessId {
  std::string boot;
  pid_t pid = 0;
  uint64_t start_ticks = 0;
  uint64_t pid_namespace = 0;  // in which it has this pid

  static ProcessId of_this_process();
};

// Owns a pidfd that was checked, after it was opened, to belong to the intended process. Signals
// are sent only through the pidfd: a signal to a process that has ended reaches nobody.
class ProcessRef {
 public:
  // Nothing if that process has ended, even if another process now has its pid, or if it is in
  // another PID namespace.
  static std::optional<ProcessRef> open(const ProcessId& id);
  static std::optional<ProcessRef> open(const ProcessStat& stat);

  pid_t pid() const { return pid_; }

  // False if the process has ended or we may not signal it.
  bool signal(int number) const;

  // True if the process ends within the timeout; a zombie counts as ended.
  bool wait(std::chrono::milliseconds timeout) const;

 private:
  ProcessRef(pid_t pid, Fd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  static std::optional<ProcessRef> open(pid_t pid, uint64_t start_ticks);

  pid_t pid_;
  Fd pidfd_;
};

// What this process can know about another one.
enum class Presence {
  running,
  ended,
  elsewhere,  // in another PID namespace: we cannot tell from here whether it runs
};
Presence presence_of(const ProcessId& id);

// Whether this kernel has pidfds (Linux 5.3 or later). Supervision needs them.
bool pidfds_work();

}  // namespace plimsoll::process
