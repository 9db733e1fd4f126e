// A process that cannot be mistaken for another. A pid is a number that the kernel gives away
// again, and that means another process in another PID namespace; boot id, namespace, pid and start
// time together name one process for all time, and a pidfd holds on to it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"
#include "process/proc_stat.h"

namespace plimsoll::process {

// As it can be written down and read again by a later program.
struct ProcessId {
  std::string boot;
  pid_t pid = 0;
  uint64_t start_ticks = 0;
  uint64_t pid_namespace = 0;  // in which it has this pid

  static ProcessId of_this_process();
};

// Owns a pidfd that was checked, once open, to belong to the process meant. Signals go through it
// alone: one to a process that has ended goes nowhere.
class ProcessRef {
 public:
  // Nothing where that process has ended, whoever has its pid by now, or where its pid is one of
  // another namespace.
  static std::optional<ProcessRef> open(const ProcessId& id);
  static std::optional<ProcessRef> open(const ProcessStat& stat);

  pid_t pid() const { return pid_; }

  // False where the process has ended or may not be signalled by us.
  bool signal(int number) const;

  // True once it has ended; a zombie has.
  bool wait(std::chrono::milliseconds timeout) const;

 private:
  ProcessRef(pid_t pid, Fd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  static std::optional<ProcessRef> open(pid_t pid, uint64_t start_ticks);

  pid_t pid_;
  Fd pidfd_;
};

// What can be said of a process from here.
enum class Presence {
  running,
  ended,
  elsewhere,  // its pid is one of another PID namespace: nobody here can tell whether it runs
};
Presence presence_of(const ProcessId& id);

// Whether this kernel has pidfds (5.3 and later); without them nothing is supervised.
bool pidfds_work();

}  // namespace plimsoll::process
