// How a process tree is held together so that it can be ended as a whole. The machine decides which
// levels are available; docs/reference/supervision.md says what each of them guarantees.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host.h"

namespace plimsoll::process {

// From the strongest to the weakest.
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

}  // namespace plimsoll::process
