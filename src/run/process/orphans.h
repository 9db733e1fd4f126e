// What is left of runs whose plimsoll is gone. A keeper ends these within its grace; they last only
// where plimsoll and keeper were killed together, where the keeper was stopped, or where the kernel
// does not let go of a process.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "process/proc_stat.h"
#include "process/registry.h"

namespace plimsoll::process {

struct Orphan {
  ProcessStat process;
  std::string command;
  std::string run;
  double started = 0;  // seconds since the epoch
  std::optional<RunRecord> record;
};

// A run of another PID namespace. Whether its plimsoll lives cannot be told from here, so that
// nothing of it is ended or removed.
struct RunElsewhere {
  std::string run;
  std::optional<RunRecord> record;
  size_t processes = 0;  // of it that can be seen from here
};

struct Leftovers {
  std::vector<Orphan> orphans;
  std::vector<RunElsewhere> elsewhere;
  std::vector<UnusableRecord> unusable;  // left alone, too
};

// Of this user's runs: whoever carries the name of a run that nobody supervises, is its keeper, or
// is in a group of it, and all their descendants but those that a living plimsoll supervises, or
// one in another namespace. Throws Error{refused} where there is no /proc to look into.
Leftovers find_leftovers(const std::filesystem::path& state = state_folder());

struct Cleared {
  size_t ended = 0;
  size_t groups_removed = 0;
  Leftovers left;  // orphans that survived: not ours to signal, or stuck in the kernel
};

// SIGTERM to each of the orphans, SIGKILL after the grace to those that are left and to all that
// they started meanwhile; removes the groups and records of runs with nobody left.
Cleared end_orphans(double grace_seconds, const std::filesystem::path& state = state_folder());

}  // namespace plimsoll::process
