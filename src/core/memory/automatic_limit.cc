#include "memory/automatic_limit.h"

#include <fmt/format.h>

#include "base/units.h"

namespace plimsoll::memory {
namespace {

// What programs could get without swapping; nothing where the kernel does not say.
std::optional<uint64_t> available_bytes(const Host& host) {
  const auto meminfo = read_text(host.root / "proc/meminfo");
  const auto kib = number_of(meminfo.value_or(""), "MemAvailable:");
  return kib ? std::optional(*kib * kKiB) : std::nullopt;
}

}  // namespace

Limit automatic_limit(const Host& host) {
  Limit limit = detect_limit(host);
  const auto lower_to = [&](uint64_t bytes, const std::string& winner) {
    if (bytes >= limit.bytes) return;
    limit.bytes = bytes;
    limit.winner = winner;
  };
  for (const LimitSource& source : limit.sources) {
    if (source.name != "RAM") continue;
    lower_to(static_cast<uint64_t>(kRamShare * static_cast<double>(source.bytes)),
             fmt::format("{} of RAM", format_percent(kRamShare)));
  }
  if (const auto available = available_bytes(host)) {
    lower_to(*available > kLeftFreeBytes ? *available - kLeftFreeBytes : 0,
             fmt::format("free RAM less {}", format_bytes(kLeftFreeBytes)));
  }
  return limit;
}

}  // namespace plimsoll::memory
