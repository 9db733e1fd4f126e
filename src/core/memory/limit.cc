#include "memory/limit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "memory/usage.h"

namespace plimsoll::memory {
namespace {

constexpr uint64_t kMostMiB = uint64_t{1} << 40;  // a larger number is none

void add_cgroup_limits(const Host& host, std::vector<LimitSource>& found) {
  for (const CgroupLevel& level : cgroup_levels(host)) {
    for (const CgroupLimit& limit : cgroup_limits(level)) {
      found.push_back(
          {fmt::format("{} {} of {}", name(level.version), limit.file, level.path), limit.bytes});
    }
  }
}

// Slurm writes plain numbers of MiB. Per CPU or GPU counts for those of the job on this node.
void add_slurm_limits(const Host& host, std::vector<LimitSource>& found) {
  const auto number = [&](const std::string& name) -> std::optional<uint64_t> {
    const auto text = host.variable(name);
    if (!text) return {};
    const bool plain = text->find_first_not_of("0123456789") == std::string::npos;
    const auto value = plain ? leading_number(*text) : std::nullopt;
    return value && *value > 0 && *value < kMostMiB ? value : std::nullopt;
  };
  if (const auto per_node = number("SLURM_MEM_PER_NODE")) {
    found.push_back({"SLURM_MEM_PER_NODE", *per_node * kMiB});
  }
  if (const auto per_cpu = number("SLURM_MEM_PER_CPU")) {
    const auto cpus = number("SLURM_CPUS_ON_NODE").value_or(1);
    found.push_back({fmt::format("SLURM_MEM_PER_CPU for {} CPUs", cpus), *per_cpu * cpus * kMiB});
  }
  if (const auto per_gpu = number("SLURM_MEM_PER_GPU")) {
    const auto gpus = number("SLURM_GPUS_ON_NODE").value_or(1);
    found.push_back({fmt::format("SLURM_MEM_PER_GPU for {} GPUs", gpus), *per_gpu * gpus * kMiB});
  }
}

void add_ram(const Host& host, std::vector<LimitSource>& found) {
  if (const auto bytes = read_meminfo(host).total_bytes)
    found.push_back({.name = "RAM", .bytes = *bytes, .is_ram = true});
}

}  // namespace

std::optional<uint64_t> supervisor_limit(const Host& host) {
  const std::string text = host.variable(kLimitVariable).value_or("");
  if (text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  const auto bytes = leading_number(text);
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}

Limit detect_limit(const Host& host) {
  Limit limit;
  add_cgroup_limits(host, limit.sources);
  if (const auto bytes = supervisor_limit(host)) limit.sources.push_back({kLimitVariable, *bytes});
  add_slurm_limits(host, limit.sources);
  add_ram(host, limit.sources);
  if (limit.sources.empty()) {
    fail(ErrorKind::io, "cannot tell how much memory there is: {} has no MemTotal; give --memory",
         (host.root / "proc/meminfo").string());
  }
  std::stable_sort(limit.sources.begin(), limit.sources.end(),
                   [](const LimitSource& a, const LimitSource& b) { return a.bytes < b.bytes; });
  limit.bytes = limit.sources.front().bytes;
  limit.winner = limit.sources.front().name;
  limit.source = 0;
  return limit;
}

Limit choose_limit(std::optional<uint64_t> flag_bytes, const Limit& detected) {
  Limit limit = detected;
  if (!flag_bytes) {
    limit.bytes /= 2;
    limit.winner = "half of " + detected.winner;
    limit.source.reset();
  } else if (*flag_bytes <= detected.bytes) {
    limit.bytes = *flag_bytes;
    limit.winner = "--memory";
    limit.source.reset();
  } else {
    limit.winner =
        fmt::format("{}, less than --memory {}", detected.winner, format_bytes(*flag_bytes));
  }
  return limit;
}

std::string describe(const Limit& limit) {
  std::string others;
  for (size_t i = 0; i < limit.sources.size(); ++i) {
    if (limit.source == i) continue;
    others += fmt::format("; {} {}", limit.sources[i].name, format_bytes(limit.sources[i].bytes));
  }
  return fmt::format("{} ({}{})", format_bytes(limit.bytes), limit.winner, others);
}

Limit automatic_limit(const Host& host) {
  Limit limit = detect_limit(host);
  const auto lower_to = [&](uint64_t bytes, const std::string& winner) {
    if (bytes >= limit.bytes) return;
    limit.bytes = bytes;
    limit.winner = winner;
    limit.source.reset();
  };
  for (const LimitSource& source : limit.sources) {
    if (!source.is_ram) continue;
    lower_to(static_cast<uint64_t>(kRamShare * static_cast<double>(source.bytes)),
             fmt::format("{} of RAM", format_percent(kRamShare)));
  }
  if (const auto available = read_meminfo(host).available_bytes) {
    lower_to(*available > kLeftFreeBytes ? *available - kLeftFreeBytes : 0,
             fmt::format("free RAM less {}", format_bytes(kLeftFreeBytes)));
  }
  return limit;
}

}  // namespace plimsoll::memory
