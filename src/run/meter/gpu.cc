#include "meter/gpu.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

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
                        " by nobody listed");
  }
  return text;
}

}  // namespace plimsoll::meter
