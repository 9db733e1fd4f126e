// Runs a command as a separate process tree and ends the whole tree: when run_supervised() returns,
// for any reason, no descendant of the command is alive. docs/reference/supervision.md has the
// guarantees.
#pragma once

#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "process/ending.h"
#include "process/tree.h"
#include "process/tree_group.h"

namespace plimsoll::process {

struct SuperviseOptions {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // changes to ours, "NAME=value"
  MemoryBounds memory;
  std::optional<double> timeout_seconds;
  std::optional<double> idle_seconds;
  double grace_seconds = kDefaultGraceSeconds;
  std::optional<std::filesystem::path> log;
  std::optional<Level> level;  // default: the strongest that works here
  // A second SIGTERM or SIGHUP does not kill at once. Batch systems send SIGTERM to every process,
  // and again when the time to end has passed.
  bool patient = false;
  // What the command finds blocked; default: what this process has blocked.
  std::optional<sigset_t> signal_mask;
  // Whether a GPU computes for the tree; then it is not hung.
  std::function<bool()> busy_elsewhere;
  std::function<void(const std::string&)> say;  // prints a message for the user while it runs
};

// Throws Error{refused} if the command cannot be supervised. A command that cannot be executed is
// an Ending, not an error. The calling process must have only one thread; it becomes a subreaper,
// and all its children are waited for.
Ending run_supervised(const SuperviseOptions& options);

}  // namespace plimsoll::process
