#include "experiment/background_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "process/tree.h"

namespace plimsoll::experiment {

double TreeCpu::look(const std::vector<process::ProcessStat>& processes) {
  std::map<Who, uint64_t> now;
  uint64_t used = 0;
  for (const process::ProcessStat& stat : processes) {
    const Who who(stat.pid, stat.start_ticks);
    const auto before = ticks_.find(who);
    used += stat.cpu_ticks - (before == ticks_.end() ? 0 : before->second);
    now[who] = stat.cpu_ticks;
  }
  ticks_ = std::move(now);
  return process::ticks_to_seconds(used);
}

std::optional<LoadWatch::Window> LoadWatch::add(double now_seconds, Use use) {
  if (!began_) began_ = now_seconds;
  now_.seconds = now_seconds - *began_;
  now_.cpu_seconds += use.cpu_seconds;
  now_.gpu |= use.gpu;
  gpu_seen_ |= use.gpu;
  if (now_.seconds < window_seconds_) return std::nullopt;
  began_ = now_seconds;
  return std::exchange(now_, {});
}

bool LoadWatch::in_doubt(double now_seconds) const {
  Window so_far = now_;
  so_far.seconds = now_seconds - began_.value_or(now_seconds);
  return !so_far.is_load() || so_far.seconds == 0;
}

namespace {

constexpr double kImmediateSeconds = 5;  // a real training takes longer
constexpr double kReadingsInAWindow = 10;

double seconds_of(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace

std::optional<std::string> invalid_because(const ChildEnd& end, bool gpu_seen) {
  // Some loads are meant to end by their own time limit.
  if (end.cause != Cause::success && end.cause != Cause::timed_out) {
    return fmt::format("it ended with {}: {}", name(end.cause), end.headline);
  }
  if (end.seconds < kImmediateSeconds && end.cause == Cause::success) {
    return fmt::format("it ended after {}", format_seconds(end.seconds));
  }
  if (!gpu_seen && end.cpu_seconds < kIdleCpuShare * end.seconds) {
    return fmt::format("it used {} of CPU and no GPU in {}", format_seconds(end.cpu_seconds),
                       format_seconds(end.seconds));
  }
  return std::nullopt;
}

BackgroundLoad::BackgroundLoad(BackgroundOptions options)
    : options_(std::move(options)), use_(options_.idle_seconds) {
  start();
}

void BackgroundLoad::start() {
  ChildOptions child = options_.child;
  child.output_folder /= fmt::format("run_{}", ++runs_);
  std::filesystem::create_directories(child.output_folder);
  child_ = std::make_unique<SupervisedChild>(child);
  cpu_ = {};
  use_ = LoadWatch(options_.idle_seconds);
}

std::optional<std::string> BackgroundLoad::look() {
  if (!child_) return std::nullopt;
  return child_->ended() ? after_end() : watch();
}

std::optional<std::string> BackgroundLoad::after_end() {
  const auto wrong = experiment::invalid_because(child_->end(), use_.gpu_seen());
  child_.reset();
  std::optional<std::string> said;
  if (wrong) {
    said = invalid_because(*wrong);
  } else {
    times_invalid_ = 0;
  }
  if (invalid()) return said;
  if (!options_.most_runs || runs_ < *options_.most_runs) {
    start();
    return said;
  }
  return fmt::format("{}{}the background load has had its {} run{}; the experiment continues alone",
                     said.value_or(""), said ? "; " : "", runs_, runs_ == 1 ? "" : "s");
}

std::optional<std::string> BackgroundLoad::watch() {
  const auto now = Clock::now();
  if (now < next_reading_) return std::nullopt;
  const std::chrono::duration<double> pause(options_.idle_seconds / kReadingsInAWindow);
  next_reading_ = now + std::chrono::duration_cast<Clock::duration>(pause);
  const auto tree = process::descendants(process::all_processes(), child_->pid());
  LoadWatch::Use use{.cpu_seconds = cpu_.look(tree)};
  if (options_.uses_gpu && use_.in_doubt(seconds_of(now))) {
    std::vector<pid_t> pids;
    pids.reserve(tree.size());
    for (const auto& process : tree) pids.push_back(process.pid);
    use.gpu = options_.uses_gpu(pids);
  }
  const auto window = use_.add(seconds_of(now), use);
  if (!window) return std::nullopt;
  if (!window->is_load()) {
    return invalid_because(fmt::format("it used {} of CPU and no GPU in {}",
                                       format_seconds(window->cpu_seconds),
                                       format_seconds(window->seconds)));
  }
  times_invalid_ = 0;
  return std::nullopt;
}

std::string BackgroundLoad::invalid_because(std::string reason) {
  ++times_invalid_;
  reason_ = std::move(reason);
  return fmt::format("the background load is not valid: {} ({} of {} in a row)", reason_,
                     times_invalid_, kMostTimesInvalid);
}

}  // namespace plimsoll::experiment
