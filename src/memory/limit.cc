#include "memory/limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/units.h"

namespace plimsoll::memory {
namespace {

namespace fs = std::filesystem;

// Both cgroup versions write "no limit" as a word or as a number near 2^63.
constexpr uint64_t kUnlimited = uint64_t{1} << 60;

std::optional<std::string> read_first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return {};
  return line;
}

std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return {};
  return value;
}

std::optional<uint64_t> read_limit_file(const fs::path& path) {
  const auto line = read_first_line(path);
  if (!line) return {};
  const auto value = parse_number(*line);
  if (!value || *value >= kUnlimited) return {};
  return value;
}

// One line of /proc/self/mountinfo that mounts the memory controller (v1) or the unified tree (v2).
struct CgroupMount {
  fs::path mount_point;
  std::string mounted_root;  // which cgroup the mount point shows; "/" outside containers
};

struct CgroupKind {
  std::string_view label;       // "cgroup v1"
  std::string_view filesystem;  // as mountinfo names it
  std::string_view controller;  // empty for v2
  std::vector<std::string_view> limit_files;
};

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

std::optional<CgroupMount> find_mount(const Host& host, const CgroupKind& kind) {
  std::ifstream mounts(host.root / "proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const size_t separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    std::istringstream before(line.substr(0, separator));
    std::istringstream after(line.substr(separator + 3));
    std::string id;
    std::string parent;
    std::string device;
    CgroupMount mount;
    std::string mount_point;
    before >> id >> parent >> device >> mount.mounted_root >> mount_point;
    std::string filesystem;
    std::string source;
    std::string options;
    after >> filesystem >> source >> options;
    if (filesystem != kind.filesystem) continue;
    if (!kind.controller.empty() && !has_word(options, kind.controller)) continue;
    mount.mount_point = host.root / fs::path(mount_point).relative_path();
    return mount;
  }
  return {};
}

// The cgroup of this process, from /proc/self/cgroup: "4:memory:/a/b" (v1) or "0::/a/b" (v2).
std::optional<std::string> find_cgroup(const Host& host, const CgroupKind& kind) {
  std::ifstream file(host.root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool match = kind.controller.empty() ? controllers.empty() && line.starts_with("0:")
                                               : has_word(controllers, kind.controller);
    if (match) return line.substr(second + 1);
  }
  return {};
}

// The limits of the process's cgroup and of every one above it that the mount shows.
void add_cgroup_limits(const Host& host, const CgroupKind& kind, std::vector<LimitSource>& found) {
  const auto mount = find_mount(host, kind);
  const auto cgroup = find_cgroup(host, kind);
  if (!mount || !cgroup) return;
  // In a container the mount shows only a subtree, and paths may be told relative to either root.
  std::string below = *cgroup;
  if (mount->mounted_root != "/" && (below + "/").starts_with(mount->mounted_root + "/")) {
    below = below.substr(mount->mounted_root.size());
  }
  fs::path path = fs::path(below).relative_path();
  // "/../x": a cgroup outside of what this namespace shows.
  const bool outside = std::find(path.begin(), path.end(), "..") != path.end();
  if (outside || !fs::exists(mount->mount_point / path)) path.clear();
  for (;;) {
    for (const std::string_view file : kind.limit_files) {
      if (const auto bytes = read_limit_file(mount->mount_point / path / file)) {
        found.push_back({fmt::format("{} {} of /{}", kind.label, file, path.string()), *bytes});
      }
    }
    if (path.empty()) return;
    path = path.parent_path();
  }
}

// Slurm writes plain numbers of MiB. Per CPU counts for the CPUs of the job on this node.
void add_slurm_limits(const Host& host, std::vector<LimitSource>& found) {
  const auto number = [&](const std::string& name) -> std::optional<uint64_t> {
    const auto text = host.variable(name);
    if (!text) return {};
    const bool plain = text->find_first_not_of("0123456789") == std::string::npos;
    const auto value = plain ? parse_number(*text) : std::nullopt;
    return value && *value > 0 && *value < kUnlimited / kMiB ? value : std::nullopt;
  };
  if (const auto per_node = number("SLURM_MEM_PER_NODE")) {
    found.push_back({"SLURM_MEM_PER_NODE", *per_node * kMiB});
  }
  if (const auto per_cpu = number("SLURM_MEM_PER_CPU")) {
    const auto cpus = number("SLURM_CPUS_ON_NODE").value_or(1);
    found.push_back({fmt::format("SLURM_MEM_PER_CPU for {} CPUs", cpus), *per_cpu * cpus * kMiB});
  }
}

void add_ram(const Host& host, std::vector<LimitSource>& found) {
  std::ifstream file(host.root / "proc/meminfo");
  std::string key;
  uint64_t kib = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    if (fields >> key >> kib && key == "MemTotal:") found.push_back({"RAM", kib * kKiB});
  }
}

}  // namespace

Host Host::real() {
  return {.root = "/", .variable = [](const std::string& name) -> std::optional<std::string> {
            const char* value = std::getenv(name.c_str());
            if (value == nullptr) return {};
            return value;
          }};
}

Limit detect_limit(const Host& host) {
  Limit limit;
  add_cgroup_limits(host,
                    {.label = "cgroup v2",
                     .filesystem = "cgroup2",
                     .controller = "",
                     .limit_files = {"memory.max", "memory.high"}},
                    limit.sources);
  add_cgroup_limits(host,
                    {.label = "cgroup v1",
                     .filesystem = "cgroup",
                     .controller = "memory",
                     .limit_files = {"memory.limit_in_bytes"}},
                    limit.sources);
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
  return limit;
}

Limit choose_limit(std::optional<uint64_t> flag_bytes, const Limit& detected) {
  Limit limit = detected;
  if (!flag_bytes) {
    limit.bytes /= 2;
    limit.winner = "half of " + detected.winner;
  } else if (*flag_bytes <= detected.bytes) {
    limit.bytes = *flag_bytes;
    limit.winner = "--memory";
  } else {
    limit.winner =
        fmt::format("{}, less than --memory {}", detected.winner, format_bytes(*flag_bytes));
  }
  return limit;
}

std::string describe(const Limit& limit) {
  std::string others;
  for (const LimitSource& source : limit.sources) {
    const bool is_winner =
        limit.winner == source.name || limit.winner.starts_with(source.name + ",");
    if (!is_winner) {
      others += fmt::format("; {} {}", source.name, format_bytes(source.bytes));
    }
  }
  return fmt::format("{} ({}{})", format_bytes(limit.bytes), limit.winner, others);
}

}  // namespace plimsoll::memory
