#include "meter/gpu_holders.h"

#include <unistd.h>

#include <algorithm>

#include "meter/process_info.h"

namespace plimsoll::meter {
namespace {

GpuHolder make_holder(const std::filesystem::path& proc, pid_t pid) {
  GpuHolder holder{.pid = pid};
  if (auto info = process_info(proc, pid)) {
    holder.start_ticks = info->start_ticks;
    holder.user_id = info->user_id;
    holder.user = std::move(info->user);
    holder.command = std::move(info->command);
  }
  return holder;
}

}  // namespace

std::vector<GpuHolder> gpu_holders(const std::filesystem::path& proc,
                                   std::span<const ListedProcess> listed,
                                   std::span<const DeviceUser> device_users, unsigned minor) {
  std::vector<GpuHolder> holders;
  const auto is_known = [&](pid_t pid) {
    return std::ranges::any_of(holders, [&](const GpuHolder& holder) { return holder.pid == pid; });
  };
  for (const ListedProcess& process : listed) {
    if (process.pid <= 0 || process.pid == getpid() || is_known(process.pid)) continue;
    holders.push_back(make_holder(proc, process.pid));
    holders.back().bytes = process.bytes;
  }
  for (const DeviceUser& user : device_users) {
    const bool has_it = std::ranges::find(user.minors, minor) != user.minors.end();
    if (!has_it || user.pid == getpid() || is_known(user.pid)) continue;
    holders.push_back(make_holder(proc, user.pid));
    holders.back().listed_by_driver = false;
  }
  return holders;
}

}  // namespace plimsoll::meter
