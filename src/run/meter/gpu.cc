#include "meter/gpu.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "meter/gpu_processes.h"

namespace plimsoll::meter {
namespace {

// Drivers keep some memory for themselves on a GPU that nobody uses, more of it on larger ones.
uint64_t drivers_own_bytes(const GpuReading& reading) {
  return std::max(512 * kMiB, reading.total_bytes / 64);
}

}  // namespace

uint64_t GpuReading::unexplained_bytes() const {
  uint64_t explained = 0;
  for (const GpuHolder& holder : holders) explained += holder.bytes.value_or(0);
  return used_bytes > explained ? used_bytes - explained : 0;
}

bool GpuReading::has_unlisted_holder() const {
  return unexplained_bytes() > drivers_own_bytes(*this);
}

std::string describe(const GpuHolder& holder) {
  std::string text = holder.command.empty() ? "a process" : holder.command;
  text += fmt::format(" (pid {}", holder.pid);
  if (!holder.user.empty()) text += ", " + holder.user;
  if (holder.bytes) {
    text += ", " + format_bytes(*holder.bytes);
  } else if (!holder.listed_by_driver) {
    text += ", has the device open";
  }
  return text + ")";
}

std::string describe_holders(const GpuReading& reading) {
  std::string text;
  for (const GpuHolder& holder : reading.holders) {
    text += (text.empty() ? "" : ", ") + describe(holder);
  }
  const uint64_t unexplained = reading.unexplained_bytes();
  if (unexplained > drivers_own_bytes(reading)) {
    text += fmt::format("{}{}{}", text.empty() ? "" : " and ", format_bytes(unexplained),
                        " by unlisted processes");
  }
  return text;
}

namespace {

GpuSample sample_of(const GpuReading& reading) {
  return {.power_watts = reading.power_watts,
          .energy_millijoules = reading.energy_millijoules,
          .no_power_because = reading.power_watts ? "" : "this GPU does not say its power",
          .no_energy_because = reading.energy_millijoules ? "" : "this GPU has no energy counter",
          .temperature_celsius = reading.temperature_celsius,
          .memory_temperature_celsius = {},
          .utilisation_percent = reading.utilisation_percent,
          .memory_utilisation_percent = {}};
}

}  // namespace

std::vector<GpuSample> Gpus::sample(const std::vector<unsigned>& indices, bool /*slow_ones*/) {
  std::vector<GpuReading> readings;
  std::string failure = "this GPU is not there";
  try {
    readings = read_counters();
  } catch (const Error& error) {
    failure = error.what();
  }
  std::vector<GpuSample> samples;
  for (const unsigned index : indices) {
    const auto found = std::ranges::find(readings, index, &GpuReading::index);
    GpuSample missing{.no_power_because = failure, .no_energy_because = failure};
    samples.push_back(found == readings.end() ? std::move(missing) : sample_of(*found));
  }
  return samples;
}

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

GpuMemory gpu_memory() {
  GpuMemory held;
  try {
    const GpuAccess access = open_gpus();
    if (!access.gpus) return held;
    for (const GpuReading& gpu : access.gpus->read()) {
      for (const GpuHolder& holder : gpu.holders) {
        std::optional<uint64_t>& bytes = held[holder.pid];
        if (holder.bytes) bytes = bytes.value_or(0) + *holder.bytes;
      }
    }
  } catch (const Error&) {
    return {};
  }
  return held;
}

}  // namespace plimsoll::meter
