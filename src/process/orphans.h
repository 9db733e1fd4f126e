// What is left of runs whose plimsoll is gone. A keeper ends these within its grace; they last only
// where plimsoll and keeper were killed together, or where the kernel does not let go of a process.
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

// Of this user's runs: whoever carries the name of a run that nobody supervises, or is in a group
// of one, and all their descendants but those that a living plimsoll supervises.
std::vector<Orphan> find_orphans(const std::filesystem::path& state = state_folder());

struct Cleared {
  size_t ended = 0;
  std::vector<Orphan> left;  // those that survived: not ours to signal, or stuck in the kernel
  size_t groups_removed = 0;
};

// SIGTERM to each of them, SIGKILL after the grace to those that are left and to all that they
// started meanwhile; removes the groups and records of runs with nobody left.
Cleared end_orphans(double grace_seconds, const std::filesystem::path& state = state_folder());

}  // namespace plimsoll::process
