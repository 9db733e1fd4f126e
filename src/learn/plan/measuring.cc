#include "plan/measuring.h"

#include <time.h>  // NOLINT(modernize-deprecated-headers): clock_gettime is POSIX

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace plimsoll::plan {
namespace {

// With fewer rates, the median could be one of a time in which the disk was busy with something
// else.
constexpr size_t kLeastRates = 3;
constexpr double kStretches = 4;  // of the requested time
constexpr double kLongest = 4;    // times the requested time

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
  double stretch_start = clock();
  double round_start = stretch_start;
  uint64_t stretch_count = 0;
  do {
    work(count);
    stretch_count += count;
    const double round_end = clock();
    const bool grows = round_end - round_start < options.seconds / 10 && count < options.most;
    if (grows) rates.clear();  // discard rounds that were too short
    const double stretch_seconds = std::max(round_end - stretch_start, 1e-9);
    if (grows || stretch_seconds >= options.seconds / kStretches) {
      rates.push_back(static_cast<double>(stretch_count) / stretch_seconds);
      stretch_start = round_end;
      stretch_count = 0;
    }
    if (grows) count = std::min(2 * count, options.most);
    round_start = round_end;
  } while (round_start - start < options.seconds ||
           (rates.size() < kLeastRates && round_start - start < kLongest * options.seconds));
  const auto middle = rates.begin() + static_cast<ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return *middle;
}

namespace {

// Some load is always there: a shell, a daemon, kernel threads.
constexpr double kQuietCores = 0.15;
constexpr double kQuietShare = 0.05;  // of all CPUs, if this is more

}  // namespace

OtherLoad::OtherLoad(Host host) : host_(std::move(host)), start_(look()) {}

OtherLoad::Moment OtherLoad::look() const {
  return {busy_cpu_seconds(host_.root / "proc"), process_cpu_seconds(), steady_seconds()};
}

double OtherLoad::cores() const {
  const Moment end = look();
  if (!end.all || !start_.all || end.now <= start_.now) return 0;
  const double others = (*end.all - *start_.all) - (end.own - start_.own);
  return std::max(0.0, others / (end.now - start_.now));
}

bool spoils(double other_cores, unsigned cpus) {
  return other_cores > std::max(kQuietCores, kQuietShare * cpus);
}

}  // namespace plimsoll::plan
