// What exit codes and signals stand for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/explain.h"
#include "process/ending.h"

namespace plimsoll::diagnosis {

// Signals by name, and exit codes that stand for one.

std::string signal_name(int number);  // "SIGKILL", "signal 42"

// 137 -> 9, as shells, tee in a pipe with pipefail, and srun report a command that a signal ended;
// 247 -> 9, what becomes of a Python launcher's sys.exit(-9). Nothing for an ordinary code.
std::optional<int> signal_behind(int exit_code);

// What ended the leader, or the command behind it.
std::optional<int> ending_signal(const process::LeaderEnd& end);

// The causes that an exit code or a signal can have, each with a weight for this machine.

constexpr int kSlurmOutOfMemory = 125;  // no signal has this number: Slurm took it for itself

std::vector<LikelyCause> causes_of(const Code& code, const Circumstances& now);

}  // namespace plimsoll::diagnosis
