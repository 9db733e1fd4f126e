#include "process/tree_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/fd.h"
#include "base/host.h"
#include "base/units.h"
#include "process/process_ref.h"

namespace plimsoll::process {
namespace {

namespace fs = std::filesystem;
using memory::CgroupLevel;
using memory::CgroupVersion;
using std::chrono::milliseconds;

constexpr milliseconds kFreezePatience{500};
constexpr milliseconds kRemovePatience{2000};
// Names of the extended attribute that marks a group: the first for users, the second for root
// only.
constexpr std::array kMarks = {"user.plimsoll", "trusted.plimsoll"};

bool has_word(const std::string& text, const std::string& word) {
  std::istringstream words(text);
  for (std::string each; words >> each;) {
    if (each == word) return true;
  }
  return false;
}

// Two permissions are needed: write access to the folder, to make a group, and to its cgroup.procs,
// to move a process, because the folder is a common ancestor of the old and the new group.
std::string obstacle_in(const fs::path& folder) {
  if (access(folder.c_str(), W_OK) != 0) {
    return fmt::format("cannot make groups in {}: {}", folder.string(), std::strerror(errno));
  }
  const fs::path members = folder / "cgroup.procs";
  if (access(members.c_str(), W_OK) != 0) {
    return fmt::format("{}: {}", members.string(), std::strerror(errno));
  }
  return {};
}

bool kernel_at_least(int major, int minor) {
  utsname kernel = {};
  uname(&kernel);
  int found_major = 0;
  int found_minor = 0;
  // NOLINTNEXTLINE(cert-err34-c): text that is not a number leaves 0, which means an old kernel
  std::sscanf(static_cast<const char*>(kernel.release), "%d.%d", &found_major, &found_minor);
  return found_major > major || (found_major == major && found_minor >= minor);
}

bool offers_memory(const fs::path& folder) {
  return has_word(read_text(folder / "cgroup.subtree_control").value_or(""), "memory");
}

// Where to make our groups: in the process's own group, or in the nearest ancestor that can limit
// the memory of its child groups (a group that contains processes cannot). The search stops at a
// group that has a memory limit, because a group above it would escape that limit.
fs::path unified_folder(const std::vector<CgroupLevel>& levels) {
  for (const CgroupLevel& level : levels) {
    if (!obstacle_in(level.folder).empty()) break;
    if (offers_memory(level.folder)) return level.folder;
    if (!memory::cgroup_limits(level).empty()) break;
  }
  return levels.front().folder;
}

bool is_control_group(const fs::path& folder) {
  struct statfs system = {};
  return statfs(folder.c_str(), &system) == 0 &&
         (system.f_type == CGROUP_SUPER_MAGIC || system.f_type == CGROUP2_SUPER_MAGIC);
}

// Calls `done` until it returns true; false after a timeout.
template <typename Done>
bool wait_for(milliseconds patience, Done done) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (milliseconds pause(1); !done(); pause = std::min(pause * 2, milliseconds(20))) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

// In a frozen group no process forks or ends, so its pids cannot be reused. If freezing takes too
// long, that is not certain; so each process is checked again, while a pidfd holds it, to be in the
// group.
void kill_frozen(const fs::path& folder) {
  const fs::path state = folder / "freezer.state";
  write_kernel_file(state, "FROZEN");
  wait_for(kFreezePatience,
           [&state] { return read_text(state).value_or("FROZEN").starts_with("FROZEN"); });
  for (const pid_t pid : group_members(folder)) {
    const auto stat = read_stat(pid);
    const auto process = stat ? ProcessRef::open(*stat) : std::nullopt;
    if (process && in_group(pid, folder)) process->signal(SIGKILL);
  }
  write_kernel_file(state, "THAWED");
}

}  // namespace

GroupBase unified_base(const Host& host) {
  const auto levels = memory::unified_levels(host);
  if (levels.empty()) return {.folder = {}, .obstacle = "no cgroup v2 is mounted"};
  if (!kernel_at_least(5, 14)) {
    return {.folder = {}, .obstacle = "cgroup.kill needs Linux 5.14, this kernel is older"};
  }
  const fs::path folder = unified_folder(levels);
  return {.folder = folder, .obstacle = obstacle_in(folder)};
}

GroupBase freezer_base(const Host& host) {
  const auto levels = memory::controller_levels(host, "freezer");
  if (levels.empty()) return {.folder = {}, .obstacle = "no cgroup v1 freezer is mounted"};
  return {.folder = levels.front().folder, .obstacle = obstacle_in(levels.front().folder)};
}

MemoryBase memory_base(const Host& host) {
  const GroupBase unified = unified_base(host);
  if (unified.obstacle.empty()) {
    const auto offered = read_text(unified.folder / "cgroup.controllers").value_or("");
    // Enabling it fails if the folder itself contains processes; only the root group may have both.
    if (offers_memory(unified.folder) ||
        (has_word(offered, "memory") &&
         write_kernel_file(unified.folder / "cgroup.subtree_control", "+memory"))) {
      return {.version = CgroupVersion::v2, .folder = unified.folder, .obstacle = {}};
    }
  }
  const auto levels = memory::controller_levels(host, "memory");
  if (levels.empty()) {
    const std::string why = unified.obstacle.empty()
                                ? unified.folder.string() + " has no memory controller for groups"
                                : unified.obstacle;
    return {.version = CgroupVersion::v2, .folder = {}, .obstacle = why};
  }
  const fs::path& folder = levels.front().folder;
  return {.version = CgroupVersion::v1, .folder = folder, .obstacle = obstacle_in(folder)};
}

GroupPlan plan_groups(const Host& host, const std::string& run, Level level, bool limits_memory) {
  GroupPlan plan{.level = level};
  const std::string name = kGroupPrefix + run;
  if (level == Level::cgroup2) plan.tree_folder = unified_base(host).folder / name;
  if (level == Level::freezer) plan.tree_folder = freezer_base(host).folder / name;
  const MemoryBase memory = memory_base(host);
  plan.memory_version = memory.version;
  plan.memory_obstacle = memory.obstacle;
  const bool free_of_charge = level == Level::cgroup2 && memory.version == CgroupVersion::v2;
  if (memory.obstacle.empty() && (limits_memory || free_of_charge)) {
    plan.memory_folder = memory.folder / name;
  }
  return plan;
}

void make_group(const fs::path& folder) {
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) {
    fail(ErrorKind::refused, "cannot make the control group {}: {}", folder.string(),
         error.message());
  }
  const std::string name = folder.filename().string();
  for (const char* mark : kMarks) {
    if (setxattr(folder.c_str(), mark, name.data(), name.size(), 0) == 0) return;
  }
}

bool is_made_by_us(const fs::path& folder) {
  const std::string name = folder.filename().string();
  std::string value(name.size() + 1, '\0');
  for (const char* mark : kMarks) {
    const ssize_t size = lgetxattr(folder.c_str(), mark, value.data(), value.size());
    if (size == static_cast<ssize_t>(name.size()) && value.starts_with(name)) {
      return is_control_group(folder);
    }
  }
  return false;
}

bool could_be_group_of(const std::string& run, const fs::path& folder) {
  if (!folder.is_absolute() || folder != folder.lexically_normal()) return false;
  if (folder.filename() != kGroupPrefix + run) return false;
  std::error_code ignored;
  if (!fs::exists(folder.parent_path(), ignored)) return true;
  return is_control_group(folder.parent_path()) && !fs::is_symlink(folder, ignored);
}

void add_to_group(const fs::path& folder, pid_t pid) {
  if (write_kernel_file(folder / "cgroup.procs", std::to_string(pid))) return;
  fail(ErrorKind::refused, "cannot put a process into the control group {}: {}", folder.string(),
       std::strerror(errno));
}

bool write_kernel_file(const fs::path& file, const std::string& text) {
  const Fd opened(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!opened) return false;
  return write(opened.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::vector<pid_t> group_members(const fs::path& folder) {
  std::vector<pid_t> members;
  std::istringstream lines(read_text(folder / "cgroup.procs").value_or(""));
  for (pid_t pid = 0; lines >> pid;) members.push_back(pid);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (!entry.is_directory(ignored)) continue;
    for (const pid_t pid : group_members(entry.path())) members.push_back(pid);
  }
  return members;
}

bool in_group(pid_t pid, const fs::path& folder) {
  const auto groups = read_text(fmt::format("{}/{}/cgroup", proc_folder(), pid)).value_or("");
  const std::string name = "/" + folder.filename().string();
  return groups.find(name + "\n") != std::string::npos ||
         groups.find(name + "/") != std::string::npos;
}

void kill_group(Level level, const fs::path& folder) {
  if (level == Level::cgroup2) write_kernel_file(folder / "cgroup.kill", "1");
  if (level == Level::freezer) kill_frozen(folder);
}

bool remove_group(const fs::path& folder) {
  if (folder.empty()) return true;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.is_directory(ignored)) remove_group(entry.path());
  }
  return wait_for(kRemovePatience,
                  [&folder] { return rmdir(folder.c_str()) == 0 || errno == ENOENT; });
}

namespace {

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

}  // namespace plimsoll::process
