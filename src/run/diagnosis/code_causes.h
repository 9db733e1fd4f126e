// What exit codes and signals mean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnosis/explain.h"
#include "process/ending.h"

namespace plimsoll::diagnosis {

std::string signal_name(int number);  // "SIGKILL", "signal 42"

// The signal that an exit code stands for: 137 -> 9, as shells, pipes with pipefail and srun report
// a command that a signal ended; 247 -> 9, the result of sys.exit(-9) in a Python launcher. Nothing
// for an ordinary code.
std::optional<int> signal_behind(int exit_code);

// The signal that ended the leader, or the one that its exit code stands for.
std::optional<int> ending_signal(const process::LeaderEnd& end);

constexpr int kSlurmOutOfMemory = 125;  // not a real signal: Slurm uses this number itself

// The possible causes of an exit code or a signal, each with a weight for this machine.
std::vector<LikelyCause> causes_of(const Code& code, const Circumstances& now);

}  // namespace plimsoll::diagnosis
