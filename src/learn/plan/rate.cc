#include "plan/rate.h"

#include <time.h>  // NOLINT(modernize-deprecated-headers): clock_gettime is POSIX

#include <algorithm>
#include <chrono>
#include <vector>

namespace plimsoll::plan {
namespace {

// The median of fewer could be the one round during which the disk wrote something else.
constexpr size_t kLeastRounds = 3;
constexpr double kLongest = 4;  // times the time given

double seconds_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

double thread_cpu_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
double process_cpu_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double measure_rate(const RateOptions& options, const std::function<void(uint64_t count)>& work,
                    const Clock& clock) {
  const double start = clock();
  uint64_t count = std::min(options.first, options.most);
  work(count);
  std::vector<double> rates;
  double round_start = clock();
  do {
    work(count);
    const double round_end = clock();
    const double round_seconds = std::max(round_end - round_start, 1e-9);
    const bool grows = round_seconds < options.seconds / 10 && count < options.most;
    if (grows) rates.clear();  // rounds that were too short to tell make way for longer ones
    rates.push_back(static_cast<double>(count) / round_seconds);
    if (grows) count = std::min(2 * count, options.most);
    round_start = round_end;
  } while (round_start - start < options.seconds ||
           (rates.size() < kLeastRounds && round_start - start < kLongest * options.seconds));
  const auto middle = rates.begin() + static_cast<ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return *middle;
}

}  // namespace plimsoll::plan
