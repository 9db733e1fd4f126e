// One run's processes as a whole: who belongs to it, asking all of them to end, ending all of them.
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

// By pid and start time.
using ProcessSet = std::set<std::pair<pid_t, uint64_t>>;

// Everything below `root`, and everything in `group`. `root` must be a subreaper for the former to
// be complete: whoever loses its parent then becomes its child, and it has children as long as
// anybody lives.
struct Tree {
  Level level = Level::sweep;
  std::filesystem::path group;  // for cgroup2 and freezer
  pid_t root = 0;               // not a member itself
  pid_t init = 0;               // first process of a pid_namespace; ours, so no member either
  ProcessSet others = {};       // below `root`, but they and all below them are not members
};

// Of `all`, those whose parents lead up to `root`, without it, and without `others` and all below
// them.
std::vector<ProcessStat> descendants(const std::vector<ProcessStat>& all, pid_t root,
                                     const ProcessSet& others = {});

// Those alive now.
std::vector<ProcessStat> members(const Tree& tree);

// The same by the group alone, where there is one: cheap enough to be asked every second.
std::vector<ProcessStat> members_by_group(const Tree& tree, const std::filesystem::path& group);

// `first`, the signal that we were sent ourselves, or SIGTERM, to each; then SIGTERM, for those
// that ignore it, and SIGCONT, for those that were stopped. Returns how many there were.
size_t ask_to_end(const Tree& tree, int first);

// SIGKILL to each that is there now; to be repeated until `root` has no children.
void kill_members(const Tree& tree);

// Where each of them is stuck: state, kernel function, system call and command, a line a thread.
std::string describe_stuck(const Tree& tree);

}  // namespace plimsoll::process
