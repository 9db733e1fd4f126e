#include "process/other_children.h"

#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "process/proc_stat.h"

namespace plimsoll::process {
namespace {

bool has_children() {
  siginfo_t any = {};
  return waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

OtherChildren::OtherChildren() : possible_(getpid() == 1 || has_children()) {
  look_beside(0, [] { return true; });
}

void OtherChildren::look_beside(pid_t keeper, const std::function<bool()>& keeper_lives) {
  if (!possible_) return;
  const auto processes = all_processes();
  if (!keeper_lives()) return;
  for (const ProcessStat& stat : processes) {
    if (stat.parent != getpid() || stat.pid == keeper) continue;
    if (!stat.alive() && waitpid(stat.pid, nullptr, WNOHANG) == stat.pid) continue;
    all_.emplace(stat.pid, stat.start_ticks);
  }
  keep_those_below(processes);
}

void OtherChildren::look_below() {
  if (possible_) keep_those_below(all_processes());
}

// Keeps the known processes that are still alive, and adds their descendants.
void OtherChildren::keep_those_below(const std::vector<ProcessStat>& processes) {
  ProcessSet kept;
  for (const ProcessStat& stat : processes) {
    if (!all_.contains({stat.pid, stat.start_ticks})) continue;
    kept.emplace(stat.pid, stat.start_ticks);
    for (const ProcessStat& below : descendants(processes, stat.pid)) {
      kept.emplace(below.pid, below.start_ticks);
    }
  }
  all_ = std::move(kept);
}

}  // namespace plimsoll::process
