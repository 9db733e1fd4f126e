// How fast something goes, measured in little time and without knowing the answer: a disk may
// give a hundred reads a second or a million.
#pragma once

#include <cstdint>
#include <functional>

namespace plimsoll::plan {

// Seconds from any start, never backwards.
using Clock = std::function<double()>;
double steady_seconds();
// That this thread, or all of this process, has computed: time that others took does not count.
double thread_cpu_seconds();
double process_cpu_seconds();

struct RateOptions {
  double seconds = 0.3;     // about how long to measure; four times that where work stalls
  uint64_t first = 1;       // units of the first round, which only warms up; later ones double
  uint64_t most = 1 << 20;  // units of a round
};

// Units of work a second: the median over rounds of about a tenth of the time each. work(count)
// does that many units.
double measure_rate(const RateOptions& options, const std::function<void(uint64_t count)>& work,
                    const Clock& clock = steady_seconds);

}  // namespace plimsoll::plan
