// How the machine is measured: the rate of any work, and how much other programs use the CPU
// meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/host.h"

namespace plimsoll::plan {

// Seconds since some fixed moment; never goes backwards.
using Clock = std::function<double()>;
double steady_seconds();
// CPU time of this thread or of this process, without the time that other programs used.
double thread_cpu_seconds();
double process_cpu_seconds();

struct RateOptions {
  double seconds = 0.3;     // about how long to measure; up to four times that if work stalls
  uint64_t first = 1;       // units of the first round, which only warms up; later rounds double
  uint64_t most = 1 << 20;  // the most units of a round
};

// Units of work per second: the median over stretches of about a quarter of the time each.
// work(count) does that many units. The rate need not be known before: a disk may do a hundred
// reads a second or a million. A stretch has many rounds, because a cloud's disk may be fast for
// some milliseconds and then wait for its next share of the time.
double measure_rate(const RateOptions& options, const std::function<void(uint64_t count)>& work,
                    const Clock& clock = steady_seconds);

// How much CPU other programs use, from construction on; a rate measured beside a compiler is too
// low. If the kernel does not tell, the load counts as 0.
class OtherLoad {
 public:
  explicit OtherLoad(Host host = Host::real());
  // The average number of cores since construction.
  double cores() const;

 private:
  struct Moment {
    std::optional<double> all;  // CPU seconds of all processes
    double own = 0;             // CPU seconds of this process
    double now = 0;
  };
  Moment look() const;

  Host host_;
  Moment start_;
};

// Whether so much other load spoils a measurement on a machine with `cpus` CPUs.
bool spoils(double other_cores, unsigned cpus);

}  // namespace plimsoll::plan
