// Runs a command as a tree of its own and sees it to its end: when this returns, for whatever
// reason, no descendant of the command is alive. docs/supervision.md has the guarantees.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "process/ending.h"
#include "process/level.h"
#include "process/memory_group.h"

namespace plimsoll::process {

struct SuperviseOptions {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // changes to ours, "NAME=value"
  MemoryBounds memory;
  std::optional<double> timeout_seconds;
  std::optional<double> idle_seconds;
  double grace_seconds = 10;  // from SIGTERM to SIGKILL
  std::optional<std::filesystem::path> log;
  std::optional<Level> level;  // the strongest there is, where none is asked for
  std::function<bool()>
      busy_elsewhere;  // whether a device works for the tree: then it does not hang
  std::function<void(const std::string&)> say;  // what a user should know while it runs
};

// Throws Error{refused} where the command cannot be supervised; one that cannot be executed is an
// Ending. To be called while the process has one thread; makes it a subreaper, and waits for all
// its children.
Ending run_supervised(const SuperviseOptions& options);

}  // namespace plimsoll::process
