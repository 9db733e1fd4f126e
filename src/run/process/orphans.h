// Processes left over from runs whose plimsoll has ended. Normally the keeper ends them within its
// grace period. They remain only if plimsoll and the keeper were killed together, if the keeper was
// stopped, or if a process is stuck in the kernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
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

double age_seconds(const Orphan& orphan);
bool is_stopped(const Orphan& orphan);  // by SIGSTOP, or by a debugger

// What processes hold on GPUs, by pid, as meter::gpu_memory() says it: nothing for one that has a
// GPU open without known memory.
using HeldGpuMemory = std::map<pid_t, std::optional<uint64_t>>;
// A table with one line per process, under a heading.
std::string describe(const std::vector<Orphan>& orphans, const HeldGpuMemory& gpus);
nlohmann::ordered_json to_json(const std::vector<Orphan>& orphans, const HeldGpuMemory& gpus);

// A run in another PID namespace. From here we cannot tell whether its plimsoll still runs, so
// nothing of it is ended or removed.
struct RunElsewhere {
  std::string run;
  std::optional<RunRecord> record;
  size_t processes = 0;  // those visible from here
};

std::string command_of(const RunElsewhere& run);  // shortened; empty without a record

struct Leftovers {
  std::vector<Orphan> orphans;
  std::vector<RunElsewhere> elsewhere;
  std::vector<UnusableRecord> unusable;  // their runs are left alone, too
};

// Finds the leftovers of this user's runs that have no supervisor any more: every process that
// carries such a run's name in its environment, is its keeper, or is in one of its control groups,
// and all descendants of these. Excludes processes of a run whose plimsoll is alive or is in
// another PID namespace. Throws Error{refused} if there is no usable /proc.
Leftovers find_leftovers(const std::filesystem::path& state = state_folder());

// The members "elsewhere" and "unusable_records": what is left alone.
nlohmann::ordered_json left_alone_json(const Leftovers& left);

struct Cleared {
  size_t ended = 0;
  size_t groups_removed = 0;
  Leftovers left;  // orphans that survived: we may not signal them, or the kernel holds them
};

// Sends SIGTERM to the orphans and, after the grace period, SIGKILL to those still alive and to
// everything they started meanwhile. Then removes the control groups and records of runs that have
// no process left.
Cleared end_orphans(double grace_seconds, const std::filesystem::path& state = state_folder());

}  // namespace plimsoll::process
