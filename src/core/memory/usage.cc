#include "memory/usage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/fd.h"
#include "base/units.h"

namespace plimsoll::memory {
namespace {

namespace fs = std::filesystem;

// Both versions write "no limit" as a word or as a number near 2^63.
constexpr uint64_t kUnlimited = uint64_t{1} << 60;

// Where a version of the memory controller is found, and how its files are named.
struct Kind {
  CgroupVersion version;
  std::string_view filesystem;  // as mountinfo names it
  std::string_view controller;  // empty for v2
  std::array<std::string_view, 2> limit_files;
  std::string_view charged_file;
  // In memory.stat, with all groups below.
  std::string_view anon;
  std::string_view inactive_file;
  std::string_view active_file;
};

constexpr Kind kVersion1 = {.version = CgroupVersion::v1,
                            .filesystem = "cgroup",
                            .controller = "memory",
                            .limit_files = {"memory.limit_in_bytes"},
                            .charged_file = "memory.usage_in_bytes",
                            .anon = "total_rss",
                            .inactive_file = "total_inactive_file",
                            .active_file = "total_active_file"};
constexpr Kind kVersion2 = {.version = CgroupVersion::v2,
                            .filesystem = "cgroup2",
                            .controller = "",
                            .limit_files = {"memory.max", "memory.high"},
                            .charged_file = "memory.current",
                            .anon = "anon",
                            .inactive_file = "inactive_file",
                            .active_file = "active_file"};

const Kind& kind_of(CgroupVersion version) {
  return version == CgroupVersion::v1 ? kVersion1 : kVersion2;
}

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

// One line of /proc/self/mountinfo that mounts the memory controller (v1) or the unified tree (v2).
struct Mount {
  fs::path mount_point;
  std::string mounted_root;  // which cgroup the mount point shows; "/" outside containers
};

std::optional<Mount> find_mount(const Host& host, const std::string& mountinfo,
                                std::string_view wanted_filesystem, std::string_view controller) {
  std::istringstream mounts(mountinfo);
  for (std::string line; std::getline(mounts, line);) {
    const size_t separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    if (!line.substr(separator + 3).starts_with(std::string(wanted_filesystem) + ' ')) continue;
    std::istringstream before(line.substr(0, separator));
    std::istringstream after(line.substr(separator + 3));
    std::string id;
    std::string parent;
    std::string device;
    Mount mount;
    std::string mount_point;
    before >> id >> parent >> device >> mount.mounted_root >> mount_point;
    std::string filesystem;
    std::string source;
    std::string options;
    after >> filesystem >> source >> options;
    if (!controller.empty() && !has_word(options, controller)) continue;
    mount.mount_point = host.root / fs::path(mount_point).relative_path();
    return mount;
  }
  return {};
}

// The cgroup of this process, from /proc/self/cgroup: "4:memory:/a/b" (v1) or "0::/a/b" (v2).
std::optional<std::string> find_cgroup(const std::string& cgroups, std::string_view controller) {
  std::istringstream lines(cgroups);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool match = controller.empty() ? controllers.empty() && line.starts_with("0:")
                                          : has_word(controllers, controller);
    if (match) return line.substr(second + 1);
  }
  return {};
}

// Version 2's where `controller` is empty.
std::vector<CgroupLevel> levels_of(const Host& host, std::string_view controller) {
  std::vector<CgroupLevel> levels;
  const auto mountinfo = read_text(host.root / "proc/self/mountinfo");
  const auto cgroups = read_text(host.root / "proc/self/cgroup");
  if (!mountinfo || !cgroups) return levels;
  const auto version = controller.empty() ? CgroupVersion::v2 : CgroupVersion::v1;
  const auto mount = find_mount(host, *mountinfo, kind_of(version).filesystem, controller);
  const auto cgroup = find_cgroup(*cgroups, controller);
  if (!mount || !cgroup) return levels;
  // In a container the mount shows only a subtree, and paths may be told relative to either root.
  std::string below = *cgroup;
  if (mount->mounted_root != "/" && (below + "/").starts_with(mount->mounted_root + "/")) {
    below = below.substr(mount->mounted_root.size());
  }
  fs::path path = fs::path(below).relative_path();
  // "/../x": a cgroup outside of what this namespace shows.
  const bool outside = std::find(path.begin(), path.end(), "..") != path.end();
  std::error_code ignored;  // what may not be looked at is not shown either
  if (outside || !fs::exists(mount->mount_point / path, ignored)) path.clear();
  for (;; path = path.parent_path()) {
    levels.push_back({version, "/" + path.string(), mount->mount_point / path});
    if (path.empty()) return levels;
  }
}

}  // namespace

std::string_view name(CgroupVersion version) {
  return version == CgroupVersion::v1 ? "cgroup v1" : "cgroup v2";
}

std::vector<CgroupLevel> unified_levels(const Host& host) {
  return levels_of(host, kVersion2.controller);
}

std::vector<CgroupLevel> controller_levels(const Host& host, std::string_view controller) {
  return levels_of(host, controller);
}

std::vector<CgroupLevel> cgroup_levels(const Host& host) {
  std::vector<CgroupLevel> levels = unified_levels(host);
  for (CgroupLevel& level : controller_levels(host, kVersion1.controller)) {
    levels.push_back(std::move(level));
  }
  return levels;
}

std::vector<CgroupLimit> cgroup_limits(const CgroupLevel& level) {
  std::vector<CgroupLimit> limits;
  for (const std::string_view file : kind_of(level.version).limit_files) {
    if (file.empty()) continue;
    const auto text = read_text(level.folder / file);
    const auto bytes = text ? leading_number(*text) : std::nullopt;
    if (bytes && *bytes < kUnlimited) limits.push_back({file, *bytes});
  }
  return limits;
}

std::optional<CgroupMemory> read_cgroup_memory(const CgroupLevel& level) {
  const Kind& kind = kind_of(level.version);
  const auto limits = cgroup_limits(level);
  const auto tightest = std::min_element(
      limits.begin(), limits.end(),
      [](const CgroupLimit& a, const CgroupLimit& b) { return a.bytes < b.bytes; });
  if (tightest == limits.end()) return {};
  const auto charged_text = read_text(level.folder / kind.charged_file);
  const auto charged = charged_text ? leading_number(*charged_text) : std::nullopt;
  if (!charged) return {};
  const std::string stat = read_text(level.folder / "memory.stat").value_or("");
  const uint64_t cache = number_of(stat, kind.inactive_file).value_or(0) +
                         number_of(stat, kind.active_file).value_or(0);
  return CgroupMemory{.name = fmt::format("{} {}", name(level.version), level.path),
                      .limit_bytes = tightest->bytes,
                      .charged_bytes = *charged,
                      // The two files are read one after the other, and the counters behind the
                      // second lag by up to 256 KiB a CPU.
                      .cache_bytes = std::min(cache, *charged),
                      .anon_bytes = number_of(stat, kind.anon).value_or(0)};
}

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
