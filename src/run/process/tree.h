// The process tree of one run: list its members, ask them to end, kill them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "process/level.h"
#include "process/proc_stat.h"

namespace plimsoll::process {

// Pids with start times.
using ProcessSet = std::set<std::pair<pid_t, uint64_t>>;

// All descendants of `root` and all processes in `group`. `root` must be a subreaper: a process
// that loses its parent then becomes a child of `root`, so `root` has children as long as any
// member lives.
struct Tree {
  Level level = Level::sweep;
  std::filesystem::path group;  // for cgroup2 and freezer
  pid_t root = 0;               // not a member itself
  pid_t init = 0;               // first process of a pid_namespace; it is ours, so not a member
  ProcessSet others = {};       // below `root`, but neither they nor their descendants are members
};

// The descendants of `root` in `all`, without `others` and their descendants.
std::vector<ProcessStat> descendants(const std::vector<ProcessStat>& all, pid_t root,
                                     const ProcessSet& others = {});

// The members that are alive now.
std::vector<ProcessStat> members(const Tree& tree);

// The same, but lists only `group` if it is not empty: cheap enough to call every second.
std::vector<ProcessStat> members_by_group(const Tree& tree, const std::filesystem::path& group);

// Sends three signals to each member: `first` (the signal that plimsoll itself got, or SIGTERM),
// then SIGTERM for processes that ignore `first`, then SIGCONT for stopped ones. Returns the number
// of members.
size_t ask_to_end(const Tree& tree, int first);

// Sends SIGKILL to all current members. Repeat it until `root` has no children.
void kill_members(const Tree& tree);

// Where each member waits: state, kernel function and system call, one line per thread.
std::string describe_stuck(const Tree& tree);

}  // namespace plimsoll::process
