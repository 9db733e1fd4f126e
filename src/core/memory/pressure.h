// Notices, while a training runs, that memory has become tighter or looser than it was planned
// with, and says how many bytes must be given back or may be taken. A reading is values, the policy
// is arithmetic on them, and only read_pressure() and the watch touch files and clocks.
//
// One thing cannot be prevented: cgroup v2 kills at once if memory.max is lowered below the memory
// in use. To take memory from a running program, lower memory.high, which only slows it down.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/host.h"
#include "base/parallel.h"
#include "base/units.h"
#include "memory/usage.h"

namespace plimsoll::memory {

// What was read at one moment. Values that the kernel does not report are empty.
struct PressureReading {
  std::optional<uint64_t> resident_bytes;        // of this process
  std::optional<uint64_t> host_total_bytes;      // RAM
  std::optional<uint64_t> host_available_bytes;  // that programs could get without swapping
  std::vector<CgroupMemory> groups;              // every level that has a limit
  // Time in which at least one task waited for memory, since boot (the kernel's PSI): tasks in the
  // process's own cgroup v2, and tasks anywhere.
  std::optional<uint64_t> group_stall_us;
  std::optional<uint64_t> host_stall_us;
};

// Costs 0.15 to 0.2 ms of CPU time (measured with 20 mounts and five cgroup levels, one of them
// limited): at five readings a second a thousandth of one core.
PressureReading read_pressure(const Host& host = Host::real());

// Each bound, the host and every cgroup with a limit, has a reserve that is kept free. Below it
// bytes are asked back, up to one and a half of it; above twice the reserve bytes are offered; in
// between nothing happens, so that small changes of other processes do not move the lines.
struct PressureOptions {
  // The larger of the two. A neighbour that fills memory at 1 GB/s takes 256 MiB between a reading
  // and the moment the lines are down.
  uint64_t host_reserve_least_bytes = 256 * kMiB;
  double host_reserve_share = 0.03;  // of RAM

  // A share of the limit between the two. Small: the ledger keeps its own user below the limit, and
  // what is left to cover are the hot pages of program files, which count as cache, and counters
  // that lag by up to 256 KiB a CPU.
  double group_reserve_share = 1.0 / 32;
  uint64_t group_reserve_least_bytes = 8 * kMiB;
  uint64_t group_reserve_most_bytes = 64 * kMiB;

  // Stalls ask for something back even where a reserve is free: MemAvailable and a cgroup's cache
  // hold pages that somebody needs. They count when tasks waited more than `stall_share` of the
  // time for `stall_seconds` on end, and a bound has less than `stall_left_share` left: with more,
  // they come from streams of files through the page cache (measured: 13 % of the time at 3.6
  // GB/s), or from a neighbour at a limit of its own. What is asked back is the share of the time
  // stalled, times `stall_give_share`, of this process's resident bytes.
  double stall_share = 0.10;
  double stall_seconds = 0.5;
  double stall_left_share = 0.25;
  double stall_give_share = 0.25;

  // Bytes are offered after this long without pressure, longer after a stall, because the same
  // bytes may cause the next one. The offer is a share of the smallest surplus in that time, or
  // nothing if that is small. The next offer needs as much calm again.
  double calm_seconds = 10;
  double calm_after_stall_seconds = 60;
  double rise_share = 0.5;
  uint64_t rise_least_bytes = 16 * kMiB;
};

// Judges one reading after the other. Values in, value out: no clocks, no files.
class PressurePolicy {
 public:
  explicit PressurePolicy(PressureOptions options = {}) : options_(options) {}

  // Negative: bytes to release now, never more than this process has. Positive: bytes that may be
  // taken. An answer is about the moment of its reading: the next one replaces it and
  // does not add to it. `seconds` is the time since the reading before; the first one has none.
  int64_t room(const PressureReading& now, double seconds);

 private:
  double stalled_share(const PressureReading& now, double seconds) const;
  void start_calm(double seconds_needed);

  PressureOptions options_;
  std::optional<PressureReading> before_;
  double stalled_seconds_ = 0;  // on end
  double calm_seconds_ = 0;     // since the last answer other than zero, or the last stall
  double calm_needed_seconds_ = options_.calm_seconds;
  std::optional<int64_t> least_spare_bytes_;  // in the calm
};

// Reads five times a second on a thread of its own and calls back where the answer is not zero: for
// a shortage at every reading until it is over.
//
// The callback runs on that thread, and no reading is made while it runs: one that returns when the
// memory is back is not asked for the same bytes twice. It must not destroy the watch: the
// destructor waits for it. An offer is what the machine allows; ledger and plan may allow less.
class PressureWatch {
 public:
  using Callback = std::function<void(int64_t room_bytes)>;
  static constexpr std::chrono::milliseconds kInterval{200};

  explicit PressureWatch(Callback callback, PressureOptions options = {}, Host host = Host::real());

  // Throws what the callback threw, if it did. The watch has then ended. Callers that rely on it
  // must check.
  void rethrow_failure() const { ticker_.rethrow_failure(); }

 private:
  void look();

  const Callback callback_;
  const Host host_;
  PressurePolicy policy_;
  std::optional<std::chrono::steady_clock::time_point> last_look_;
  Ticker ticker_;  // last: it uses all of the above
};

}  // namespace plimsoll::memory
