// The hardware energy counters, in joules that only rise. RAPL counters wrap; a GPU's counter
// restarts when its driver is reloaded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/host.h"
#include "meter/cpu_power.h"

namespace plimsoll::energy {

// Differences are valid only within one segment. A new segment begins when the energy since the
// last reading is unknown.
struct Cumulative {
  double joules = 0;
  unsigned segment = 0;
};

class RisingCounter {
 public:
  // `range`: the count at which the counter wraps; 0: it never wraps, so a lower count is a reset.
  RisingCounter(double joules_per_count, uint64_t range)
      : joules_per_count_(joules_per_count), range_(range) {}

  // Begins a new segment if the counter may have wrapped more than once since the last reading, or
  // if the difference means more power than a package or its memory can draw.
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

// The energy that a counter shows over a period. Missing readings in between do no harm: the
// counter keeps counting.
class CounterSum {
 public:
  void add(double at, const Cumulative& reading);

  double joules() const { return joules_; }
  double covered_seconds() const { return covered_seconds_; }
  unsigned breaks() const { return breaks_; }
  // Whether the last reading began a new segment, and how long the unknown time before it is.
  bool just_broke() const { return just_broke_; }
  double broke_seconds() const { return broke_seconds_; }
  // Adds the energy of a break, measured by another source.
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

struct GpuValues {
  std::optional<double> watts;
  std::optional<Cumulative> counter;
  // Only about once a second:
  std::optional<double> celsius, memory_celsius, percent, memory_percent;
};

// Everything that was read at one moment.
struct Reading {
  double at = 0;     // seconds of a monotonic clock
  double epoch = 0;  // seconds since 1970
  std::vector<std::optional<Cumulative>> cpu;
  std::vector<GpuValues> gpus;
};

// The energy counters of this machine's CPU packages and their memory. They are read through
// powercap, or through perf if powercap is not readable; otherwise missing_because() says why.
// Opened once, read many times.
class CpuCounters {
 public:
  using OpenEvent = std::function<Fd(const meter::PowerEvent&)>;
  static CpuCounters open(const Host& host = Host::real(),
                          const OpenEvent& open_event = meter::open_power_event);

  struct Domain {
    std::string name;  // "package-0", "dram", "energy-pkg of CPU 0"
    std::string file;
    bool is_memory = false;
    bool is_event = false;  // a perf event: a read returns 8 bytes
    double joules_per_count = 0;
    Fd fd;
    RisingCounter counter;
  };

  const std::string& source() const { return source_; }  // "powercap", "perf", or empty
  const std::string& missing_because() const { return missing_because_; }
  const std::vector<Domain>& domains() const { return domains_; }

  // In the order of the domains. A domain that cannot be read now has no value; read_failure() says
  // why.
  std::vector<std::optional<Cumulative>> read(double at);
  const std::string& read_failure() const { return read_failure_; }

 private:
  std::string source_;
  std::string missing_because_;
  std::string read_failure_;
  std::vector<Domain> domains_;
};

}  // namespace plimsoll::energy
