// Whether this process does anything. A process that hangs, in a read of a dead disk or because a
// debugger holds it, looks like this: no thread computes or waits for a CPU, and no transfer ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "base/host.h"

namespace plimsoll::ranks {

struct ActivityReading {
  // By thread: nanoseconds on a CPU and in the queue for one. Empty if the kernel does not count.
  std::map<uint64_t, uint64_t> busy_ns;
  uint64_t cpu_ns = 0;     // of all threads but the one that reads
  uint64_t transfers = 0;  // of files, that have ended
  uint64_t faults = 0;     // pages that came from a disk
  bool syncing = false;    // waits until a disk has stored what was written
};

// All but the transfers and syncing. The calling thread does not count.
ActivityReading read_activity(const Host& host = Host::real());

// Pure: it uses no clock and no files.
class ActivityJudge {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Whether the process has done anything since the reading before. Threads that only look after
  // something a few times a second do not count.
  bool active(const ActivityReading& now, Time time);

 private:
  std::optional<ActivityReading> before_;
  Time time_;
};

}  // namespace plimsoll::ranks
