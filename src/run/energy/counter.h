// Energy counters of hardware, which wrap (RAPL) or begin anew (a GPU's, when its driver is loaded
// again), as joules that only rise.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace plimsoll::energy {

// Differences mean something within one segment. A new one begins where it is not known how much
// there was in between.
struct Cumulative {
  double joules = 0;
  unsigned segment = 0;
};

class RisingCounter {
 public:
  // `range`: where the counter wraps, in counts; 0 for one that does not, whose fall is a reset.
  RisingCounter(double joules_per_count, uint64_t range)
      : joules_per_count_(joules_per_count), range_(range) {}

  // A counter that may have wrapped more than once since the last reading, or that would stand for
  // more power than a package or its memory can draw, begins a new segment.
  Cumulative add(double at, uint64_t count);

  static constexpr double kMostWatts = 2000;

 private:
  bool is_known(double seconds, uint64_t delta) const;

  double joules_per_count_;
  uint64_t range_;
  std::optional<uint64_t> last_;
  double last_at_ = 0;
  Cumulative now_;
};

// What a counter says about a stretch of time. Readings may be missing in between: a counter counts
// without being looked at.
class CounterSum {
 public:
  void add(double at, const Cumulative& reading);

  double joules() const { return joules_; }
  double covered_seconds() const { return covered_seconds_; }
  unsigned breaks() const { return breaks_; }
  // Whether the last reading began a segment, and from when nothing is known.
  bool just_broke() const { return just_broke_; }
  double broke_seconds() const { return broke_seconds_; }
  // For a break that something else can tell about.
  void bridge(double joules, double seconds);

 private:
  std::optional<Cumulative> last_;
  double last_at_ = 0;
  double joules_ = 0;
  double covered_seconds_ = 0;
  unsigned breaks_ = 0;
  bool just_broke_ = false;
  double broke_seconds_ = 0;
};

// What was read at one moment.

struct GpuValues {
  std::optional<double> watts;
  std::optional<Cumulative> counter;
  // About once a second.
  std::optional<double> celsius, memory_celsius, percent, memory_percent;
};

struct Reading {
  double at = 0;     // a clock that never goes backwards
  double epoch = 0;  // the time of day
  std::vector<std::optional<Cumulative>> cpu;
  std::vector<GpuValues> gpus;
};

}  // namespace plimsoll::energy
