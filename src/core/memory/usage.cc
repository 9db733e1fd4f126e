#include "memory/usage.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/units.h"

namespace plimsoll::memory {

ProcessUsage process_usage(const Host& host) {
  const std::string status = read_text(host.root / "proc/self/status").value_or("");
  return {.resident_bytes = number_of(status, "VmRSS:").value_or(0) * kKiB,
          .peak_resident_bytes = number_of(status, "VmHWM:").value_or(0) * kKiB};
}

void begin_peak() {
  const Fd file(open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC));
  constexpr std::string_view kResetPeak = "5";
  if (file) [[maybe_unused]]
    const ssize_t written = write(file.get(), kResetPeak.data(), 1);
}

std::optional<CgroupMemory> cgroup_usage(const Host& host) {
  std::optional<CgroupMemory> tightest;
  for (const CgroupLevel& level : cgroup_levels(host)) {
    auto memory = read_cgroup_memory(level);
    if (!memory) continue;
    if (!tightest || memory->left_bytes() < tightest->left_bytes()) tightest = std::move(memory);
  }
  return tightest;
}

}  // namespace plimsoll::memory
