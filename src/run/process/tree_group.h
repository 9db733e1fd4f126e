// The control groups of one run: where they can be, making them, ending all that is inside,
// removing them. A run has at most two: one that holds the tree together, one that bounds its
// memory; on a machine with version 2 alone they are the same folder.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "memory/cgroup.h"
#include "memory/host.h"
#include "process/level.h"

namespace plimsoll::process {

// A folder in which groups of ours may be made, or what is in the way.
struct GroupBase {
  std::filesystem::path folder;
  std::string obstacle;  // empty where nothing is
};

GroupBase unified_base(const memory::Host& host);
GroupBase freezer_base(const memory::Host& host);

// Where the memory of a tree can be bounded: in version 2's tree if it has the controller, else in
// version 1's.
struct MemoryBase {
  memory::CgroupVersion version = memory::CgroupVersion::v2;
  std::filesystem::path folder;
  std::string obstacle;
};
MemoryBase memory_base(const memory::Host& host);

// What will be made for a run. Empty paths stand for groups that it does without.
struct GroupPlan {
  Level level = Level::sweep;
  std::filesystem::path tree_folder;
  std::filesystem::path memory_folder;
  memory::CgroupVersion memory_version = memory::CgroupVersion::v2;
  std::string memory_obstacle;  // why there is no memory_folder
};
// Version 2 counts memory in the group that the tree has anyway. Version 1 needs one more, and
// moving a process into it costs tens of milliseconds: it is made for a limit alone.
GroupPlan plan_groups(const memory::Host& host, const std::string& run, Level level,
                      bool limits_memory);

// Leaves a mark on it, by which a later plimsoll knows that it is ours. Throws Error{refused} with
// the folder.
void make_group(const std::filesystem::path& folder);

// Whether it is a control group, and carries that mark.
bool is_made_by_us(const std::filesystem::path& folder);

// Whether a group of this name could be one of the run: in a file system of control groups, and of
// our naming. One that is not there could.
bool could_be_group_of(const std::string& run, const std::filesystem::path& folder);
void add_to_group(const std::filesystem::path& folder, pid_t pid);

// One line into one of the kernel's files; false, with errno set, where the kernel refuses it.
bool write_kernel_file(const std::filesystem::path& file, const std::string& text);

// Inside the group and the groups below it.
std::vector<pid_t> group_members(const std::filesystem::path& folder);

// Whether /proc says so of this process; of one with the same pid at another time, nothing.
bool in_group(pid_t pid, const std::filesystem::path& folder);

// Ends everything inside as far as the level can: version 2's by its one word; version 1's by
// freezing, killing and thawing. Comes back before all of it has ended.
void kill_group(Level level, const std::filesystem::path& folder);

// Removes the group and those below it, waiting a moment for processes on their way out. False
// where somebody is still inside. A folder that is not there counts as removed.
bool remove_group(const std::filesystem::path& folder);

// Begins the name of every group of ours; the run's name follows.
constexpr const char* kGroupPrefix = "plimsoll-";

}  // namespace plimsoll::process
