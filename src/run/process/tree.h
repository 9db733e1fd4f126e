// The process tree of one run: how it is held together, so that it can be ended as a whole; its
// members, and how they are ended.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host.h"
#include "process/proc_stat.h"

namespace plimsoll::process {

// How a tree is held together, from the strongest level to the weakest. The machine decides which
// levels are available; docs/reference/supervision.md says what each of them guarantees.
enum class Level {
  cgroup2,        // a cgroup v2: one write to cgroup.kill ends all of it (Linux 5.14)
  freezer,        // a cgroup v1: frozen as a whole, then killed one by one, then thawed
  pid_namespace,  // a namespace whose first process is ours: the kernel ends all with that one
  sweep,  // a subreaper: it adopts orphaned processes; search /proc and kill until none is left
};
inline constexpr std::array kLevels = {Level::cgroup2, Level::freezer, Level::pid_namespace,
                                       Level::sweep};

std::string_view name(Level level);  // "cgroup2", "freezer", "pidns", "sweep"
std::optional<Level> level_named(std::string_view name);

// Why this level does not work on this machine, now, for this user; empty if it works.
std::string obstacle(Level level, const Host& host = Host::real());

// The strongest level that works and lets the command run as if without plimsoll. A pid namespace
// is chosen only if it needs no user namespace: inside one, the command would have neither sudo nor
// other users' groups. With a user namespace, the level must be requested by name.
Level strongest_level(const Host& host = Host::real());

// From SIGTERM to SIGKILL, unless the user says otherwise.
inline constexpr double kDefaultGraceSeconds = 10;

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
