#include "process/ending.h"

#include <cerrno>
#include <csignal>

namespace plimsoll::process {

bool hit_own_limit(const Ending& ending) {
  if (ending.cut == Cut::memory_watch) return true;
  const MemoryFacts& memory = ending.memory;
  const bool killed_inside = memory.limit_bytes && memory.enforced_by_kernel &&
                             memory.own_limit_hits > 0 && memory.group_oom_kills > 0;
  // A command that was told of its worker's end, and went on to a good one, did not fail.
  const auto* const exited = std::get_if<Exited>(&ending.leader);
  return killed_inside && ending.cut == Cut::none && (exited == nullptr || exited->code != 0);
}

int exit_code(const Ending& ending) {
  if (const auto* const missing = std::get_if<NotStarted>(&ending.leader)) {
    return missing->error == ENOENT ? kExitNotFound : kExitNotExecutable;
  }
  if (ending.cut == Cut::timeout) return kExitTimeout;
  if (ending.cut == Cut::idle) return kExitHung;
  if (hit_own_limit(ending)) return kExitMemoryLimit;
  if (const auto* const killed = std::get_if<Signaled>(&ending.leader)) {
    return 128 + killed->number;
  }
  return std::get<Exited>(ending.leader).code;
}

}  // namespace plimsoll::process
