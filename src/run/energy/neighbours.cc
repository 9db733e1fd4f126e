#include "energy/neighbours.h"

#include <fmt/format.h>

#include "base/units.h"

namespace plimsoll::energy {

void Neighbours::look_before(const meter::GpuReading& gpu, const IsOurs& is_ours) {
  look(gpu, is_ours);
  if (reason_.empty() && gpu.has_unlisted_holder()) {
    reason_ = fmt::format("{} of GPU {} were in use before it began, by nobody listed",
                          format_bytes(gpu.unexplained_bytes()), gpu.index);
  }
}

void Neighbours::look(const meter::GpuReading& gpu, const IsOurs& is_ours) {
  if (!reason_.empty()) return;
  // A listed pid without a process is one that has just ended, or one of another pid namespace:
  // perhaps ours, by another number, if ours has the device open and is not listed.
  std::set<pid_t> unknown;
  size_t ours_unlisted = 0;
  for (const meter::GpuHolder& holder : gpu.holders) {
    if (holder.start_ticks == 0) {
      unknown.insert(holder.pid);
    } else if (!is_ours(holder.pid)) {
      reason_ = fmt::format("GPU {} was held by {}", gpu.index, describe(holder));
      return;
    } else if (!holder.listed_by_driver) {
      ++ours_unlisted;
    }
  }
  size_t seen_again = 0;
  for (const pid_t pid : unknown) seen_again += unknown_.count(pid);
  if (seen_again > ours_unlisted) {
    reason_ = fmt::format("GPU {} was held by a process that cannot be seen from here (pid {})",
                          gpu.index, *unknown.begin());
  }
  unknown_ = std::move(unknown);
}

}  // namespace plimsoll::energy
