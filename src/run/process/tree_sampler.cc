#include "process/tree_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/host.h"

namespace plimsoll::process {

TreeUsage usage_of(const std::vector<ProcessStat>& processes) {
  TreeUsage usage;
  for (const ProcessStat& stat : processes) {
    usage.resident_bytes += stat.resident_bytes;
    usage.cpu_ticks += stat.cpu_ticks;
    if (stat.resident_bytes <= usage.largest_bytes) continue;
    usage.largest_pid = stat.pid;
    usage.largest_bytes = stat.resident_bytes;
  }
  return usage;
}

uint64_t proportional_bytes(const std::vector<ProcessStat>& processes) {
  uint64_t sum = 0;
  for (const ProcessStat& stat : processes) {
    sum += proportional_bytes(stat.pid).value_or(stat.resident_bytes);
  }
  return sum;
}

uint64_t written_bytes(const std::vector<ProcessStat>& processes) {
  uint64_t sum = 0;
  for (const ProcessStat& stat : processes) {
    const auto text = read_text(fmt::format("/proc/{}/io", stat.pid));
    if (text) sum += number_of(*text, "wchar:").value_or(0);
  }
  return sum;
}

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestInterval{1000};
constexpr milliseconds kNearLimitInterval{50};
constexpr double kNearLimit = 0.6;
// Sampling takes at most this share of one CPU. It may take more if only plimsoll enforces the
// limit, and still more near that limit.
constexpr double kCostShare = 1.0 / 1000;
constexpr double kWatchingCostShare = 1.0 / 100;
constexpr double kNearLimitCostShare = 1.0 / 10;
// A waiting process still wakes up now and then: below this share of one CPU it counts as idle.
constexpr double kIdleCpuShare = 0.01;

// CPU time, not wall-clock time: on a busy machine wall-clock time would make samples rare.
double cpu_seconds_of_this_thread() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

TreeSampler::TreeSampler(TreeSamplerOptions options)
    : options_(std::move(options)),
      next_(Clock::now() + interval_),
      host_oom_kills_before_(oom_kills().value_or(0)) {}

Cut TreeSampler::sample(const Tree& tree, Clock::time_point now) {
  const double began = cpu_seconds_of_this_thread();
  const auto processes =
      members_by_group(tree, options_.group.folder.empty() ? tree.group : options_.group.folder);
  const TreeUsage usage = usage_of(processes);
  if (usage.largest_bytes > largest_bytes_) {
    largest_bytes_ = usage.largest_bytes;
    largest_process_ = command_line(usage.largest_pid);
  }
  Cut cut = Cut::none;
  if (over_limit(processes, usage.resident_bytes)) {
    cut = Cut::memory_watch;
  } else if (is_hung(processes, usage.cpu_ticks, now)) {
    cut = Cut::idle;
  }
  schedule(cpu_seconds_of_this_thread() - began, usage.resident_bytes);
  return cut;
}

bool TreeSampler::over_limit(const std::vector<ProcessStat>& processes, uint64_t resident_bytes) {
  if (options_.enforced_by_kernel) {
    // Version 1 kills one process; the others wait for it or continue without it.
    return options_.limit_bytes && read_counters(options_.group).oom_kills > 0;
  }
  // The sum counts shared pages several times. Below the limit that is enough to decide; above it,
  // the exact value is needed.
  if (!options_.limit_bytes || resident_bytes <= *options_.limit_bytes) {
    peak_bytes_ = std::max(peak_bytes_, resident_bytes);
    return false;
  }
  const uint64_t bytes = proportional_bytes(processes);
  peak_bytes_ = std::max(peak_bytes_, bytes);
  return bytes > *options_.limit_bytes;
}

bool TreeSampler::is_hung(const std::vector<ProcessStat>& processes, uint64_t cpu_ticks,
                          Clock::time_point now) {
  if (!options_.idle_seconds) return false;
  if (processes.empty()) return false;  // it has ended, and its keeper will report that soon
  const auto seen = options_.output_bytes();
  const uint64_t output = seen ? *seen : written_bytes(processes);
  const double still =
      still_since_ ? std::chrono::duration<double>(now - *still_since_).count() : 0;
  const bool more_cpu =
      cpu_ticks < still_cpu_ticks_ ||  // a process ended, which counts as activity
      ticks_to_seconds(cpu_ticks - still_cpu_ticks_) > std::max(0.02, still * kIdleCpuShare);
  const bool busy = more_cpu || output != still_output_bytes_ ||
                    (options_.busy_elsewhere && options_.busy_elsewhere());
  if (busy || !still_since_) {
    still_since_ = now;
    still_cpu_ticks_ = cpu_ticks;
    still_output_bytes_ = output;
    return false;
  }
  return still >= *options_.idle_seconds;
}

void TreeSampler::schedule(double cost_seconds, uint64_t resident_bytes) {
  interval_ = std::min(interval_ * 3 / 2, kLongestInterval);
  std::chrono::duration<double> pause = interval_;
  const bool watching = options_.limit_bytes && !options_.enforced_by_kernel;
  double share = watching ? kWatchingCostShare : kCostShare;
  if (options_.limit_bytes && static_cast<double>(resident_bytes) >
                                  kNearLimit * static_cast<double>(*options_.limit_bytes)) {
    pause = std::min<std::chrono::duration<double>>(pause, kNearLimitInterval);
    if (watching) share = kNearLimitCostShare;
  }
  if (options_.idle_seconds) {
    pause = std::min(pause, std::chrono::duration<double>(*options_.idle_seconds / 10));
  }
  pause = std::max(pause, std::chrono::duration<double>(cost_seconds / share));
  next_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(pause);
}

void TreeSampler::fill(MemoryFacts& facts) const {
  const GroupCounters counters = read_counters(options_.group);
  facts.limit_bytes = options_.limit_bytes;
  facts.enforced_by_kernel = options_.enforced_by_kernel;
  facts.own_limit_hits = counters.limit_hits;
  facts.group_oom_kills = counters.oom_kills;
  facts.counted_in =
      options_.group.version == memory::CgroupVersion::v1 ? "memory.oom_control" : "memory.events";
  facts.host_oom_kills = oom_kills().value_or(0) - host_oom_kills_before_;
  facts.largest_process = largest_process_;
  facts.largest_process_bytes = largest_bytes_;
  const uint64_t peak = std::max(counters.peak_bytes.value_or(0), peak_bytes_);
  if (peak > 0) facts.peak_bytes = peak;
}

}  // namespace plimsoll::process
