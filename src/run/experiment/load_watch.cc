#include "experiment/load_watch.h"

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

}  // namespace plimsoll::experiment
