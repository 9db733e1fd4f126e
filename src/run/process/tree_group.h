// The control groups (cgroups) of one run: where they can be, making them, killing everything
// inside, removing them. A run has at most two: one holds the tree together, one limits its memory.
// On a machine with cgroup v2 only, they are the same folder. "Version 1" and "version 2" below are
// versions of cgroups.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/host.h"
#include "memory/usage.h"
#include "process/tree.h"

namespace plimsoll::process {

// A folder in which we may make groups, or why there is none.
struct GroupBase {
  std::filesystem::path folder;
  std::string obstacle;  // why groups cannot be made; empty if they can
};

GroupBase unified_base(const Host& host);
GroupBase freezer_base(const Host& host);

// Where the memory of a tree can be limited: in the version 2 hierarchy if it has the memory
// controller, otherwise in version 1.
struct MemoryBase {
  memory::CgroupVersion version = memory::CgroupVersion::v2;
  std::filesystem::path folder;
  std::string obstacle;
};
MemoryBase memory_base(const Host& host);

// The groups that will be made for a run. An empty path: no such group.
struct GroupPlan {
  Level level = Level::sweep;
  std::filesystem::path tree_folder;
  std::filesystem::path memory_folder;
  memory::CgroupVersion memory_version = memory::CgroupVersion::v2;
  std::string memory_obstacle;  // why there is no memory_folder
};
// In version 2, the group that holds the tree also counts its memory. Version 1 needs a second
// group, and moving a process into it costs tens of milliseconds, so it is made only for a limit.
GroupPlan plan_groups(const Host& host, const std::string& run, Level level, bool limits_memory);

// Makes the group and marks it, so that a later plimsoll recognises it as ours. Throws
// Error{refused}, which names the folder.
void make_group(const std::filesystem::path& folder);

// Whether it is a control group with that mark.
bool is_made_by_us(const std::filesystem::path& folder);

// Whether this path could be a group of the run: it has the name that we would give it, and its
// parent is in a cgroup file system. A path that does not exist could be one.
bool could_be_group_of(const std::string& run, const std::filesystem::path& folder);
void add_to_group(const std::filesystem::path& folder, pid_t pid);

// Writes one line to a kernel file; false, with errno set, if the kernel rejects it.
bool write_kernel_file(const std::filesystem::path& file, const std::string& text);

// The pids in the group and the groups below it.
std::vector<pid_t> group_members(const std::filesystem::path& folder);

// Whether /proc says that the process that has this pid now is in the group.
bool in_group(pid_t pid, const std::filesystem::path& folder);

// Kills everything inside: in version 2 with cgroup.kill, in version 1 by freezing, killing and
// thawing. Does nothing at other levels. Returns before all processes have ended.
void kill_group(Level level, const std::filesystem::path& folder);

// Removes the group and those below it; waits up to two seconds for processes that are ending.
// False if a process is still inside. A folder that does not exist counts as removed.
bool remove_group(const std::filesystem::path& folder);

// The name of each of our groups is this prefix and the run's name.
constexpr const char* kGroupPrefix = "plimsoll-";

// The group that limits and counts the memory of a tree.
struct MemoryGroup {
  memory::CgroupVersion version = memory::CgroupVersion::v2;
  std::filesystem::path folder;  // empty: no group
};

struct MemoryBounds {
  std::optional<uint64_t> limit_bytes;  // above it the kernel kills; swap does not extend it
  std::optional<uint64_t> high_bytes;   // above it the kernel slows the tree down; v2 only
};

// Call it before the first process joins the group. Throws Error{refused} if the kernel rejects the
// limit.
void set_bounds(const MemoryGroup& group, const MemoryBounds& bounds);

struct GroupCounters {
  std::optional<uint64_t> peak_bytes;
  uint64_t limit_hits = 0;  // how often the group reached its limit, with or without a kill
  uint64_t oom_kills = 0;   // processes of the group killed by any OOM killer
};

GroupCounters read_counters(const MemoryGroup& group);

}  // namespace plimsoll::process
