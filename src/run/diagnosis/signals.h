// Signals by name, and exit codes that stand for one.
#pragma once

#include <optional>
#include <string>

#include "process/ending.h"

namespace plimsoll::diagnosis {

std::string signal_name(int number);  // "SIGKILL", "signal 42"

// 137 -> 9, as shells, tee in a pipe with pipefail, and srun report a command that a signal ended;
// 247 -> 9, what becomes of a Python launcher's sys.exit(-9). Nothing for an ordinary code.
std::optional<int> signal_behind(int exit_code);

// What ended the leader, or the command behind it.
std::optional<int> ending_signal(const process::LeaderEnd& end);

}  // namespace plimsoll::diagnosis
