#include "process/ending.h"

#include <cerrno>
#include <csignal>

namespace plimsoll::process {

// True even if the leader handled its worker's end and exited normally: otherwise the result would
// depend on whether the leader or plimsoll was first, and cgroup v2 kills the whole group anyway.
bool hit_own_limit(const Ending& ending) {
  if (ending.cut == Cut::memory_watch) return true;
  const MemoryFacts& memory = ending.memory;
  return ending.cut == Cut::none && memory.limit_bytes && memory.enforced_by_kernel &&
         memory.own_limit_hits > 0 && memory.group_oom_kills > 0;
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
