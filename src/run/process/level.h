// How a tree of processes is held together, so that it can be ended as one. Which levels there are
// is up to the machine; docs/supervision.md says what each of them guarantees.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/host.h"

namespace plimsoll::process {

// From the strongest to the weakest.
enum class Level {
  cgroup2,        // a version 2 group: the kernel ends all of it at one word (cgroup.kill, 5.14)
  freezer,        // a version 1 group: frozen as a whole, then killed one by one, then thawed
  pid_namespace,  // a namespace whose first process is ours: the kernel ends all with that one
  sweep,  // a subreaper: what loses its parent comes to us; /proc is searched until it is empty
};
inline constexpr std::array kLevels = {Level::cgroup2, Level::freezer, Level::pid_namespace,
                                       Level::sweep};

std::string_view name(Level level);  // "cgroup2", "freezer", "pidns", "sweep"
std::optional<Level> level_named(std::string_view name);

// What stands in the way of a level on this machine, now, for this user; empty where nothing does.
std::string obstacle(Level level, const memory::Host& host = memory::Host::real());

// The strongest that works and lets the command run as if bare. A namespace of pids is only taken
// where it needs no namespace of users besides: that one would take sudo and other users' groups
// from the command. Who wants it all the same asks for it by name.
Level strongest_level(const memory::Host& host = memory::Host::real());

}  // namespace plimsoll::process
