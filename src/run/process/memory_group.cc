#include "process/memory_group.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"
#include "base/host.h"
#include "base/units.h"
#include "process/tree_group.h"

namespace plimsoll::process {
namespace {

using memory::CgroupVersion;

void must_write(const std::filesystem::path& file, uint64_t bytes) {
  if (write_kernel_file(file, std::to_string(bytes))) return;
  fail(ErrorKind::refused, "cannot limit the memory to {}: {}: {}", format_bytes(bytes),
       file.string(), std::strerror(errno));
}

std::optional<uint64_t> number_in(const std::filesystem::path& file) {
  const auto text = read_text(file);
  return text ? leading_number(*text) : std::nullopt;
}

// If the limits on memory and on memory plus swap are equal, some kernels count no hits in
// memory.failcnt. So a peak at the limit also counts as a hit.
GroupCounters read_version_1(const std::filesystem::path& folder) {
  const auto limit = number_in(folder / "memory.limit_in_bytes");
  const auto peak = number_in(folder / "memory.max_usage_in_bytes");
  uint64_t hits = number_in(folder / "memory.failcnt").value_or(0);
  if (limit && peak && *peak + kMiB > *limit) hits = std::max<uint64_t>(hits, 1);
  const std::string control = read_text(folder / "memory.oom_control").value_or("");
  return {.peak_bytes = peak,
          .limit_hits = hits,
          .oom_kills = number_of(control, "oom_kill").value_or(0)};
}

GroupCounters read_version_2(const std::filesystem::path& folder) {
  const std::string events = read_text(folder / "memory.events").value_or("");
  return {.peak_bytes = number_in(folder / "memory.peak"),
          .limit_hits = number_of(events, "max").value_or(0),
          .oom_kills = number_of(events, "oom_kill").value_or(0)};
}

}  // namespace

void set_bounds(const MemoryGroup& group, const MemoryBounds& bounds) {
  if (group.folder.empty()) return;
  const auto& folder = group.folder;
  if (group.version == CgroupVersion::v1) {
    if (!bounds.limit_bytes) return;
    must_write(folder / "memory.limit_in_bytes", *bounds.limit_bytes);
    // The limit on memory plus swap. The file is missing if the kernel does not count swap.
    write_kernel_file(folder / "memory.memsw.limit_in_bytes", std::to_string(*bounds.limit_bytes));
    return;
  }
  // Kill all processes or none: if only one were killed, the training would wait for it forever.
  write_kernel_file(folder / "memory.oom.group", "1");
  if (bounds.high_bytes) must_write(folder / "memory.high", *bounds.high_bytes);
  if (!bounds.limit_bytes) return;
  must_write(folder / "memory.max", *bounds.limit_bytes);
  write_kernel_file(folder / "memory.swap.max", "0");
}

GroupCounters read_counters(const MemoryGroup& group) {
  if (group.folder.empty()) return {};
  return group.version == CgroupVersion::v1 ? read_version_1(group.folder)
                                            : read_version_2(group.folder);
}

uint64_t host_oom_kills() {
  return number_of(read_text("/proc/vmstat").value_or(""), "oom_kill").value_or(0);
}

}  // namespace plimsoll::process
