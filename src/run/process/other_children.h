// Children of plimsoll that do not belong to its run. There are two cases: plimsoll replaced a
// program that had children (`sh -c 'server & exec plimsoll exec ...'`), or plimsoll is the first
// process of a PID namespace and adopts orphans. plimsoll waits for these children but never ends
// them. It needs the list when the keeper is killed: then the children of the keeper become
// plimsoll's children too, and only they may be ended.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

#include "process/tree.h"

namespace plimsoll::process {

class OtherChildren {
 public:
  // Construct it before the keeper is forked.
  OtherChildren();

  // False in the usual case: there are no other children and there cannot be any.
  bool possible() const { return possible_; }

  // Updates the list while the keeper lives: all our children except the keeper, and their
  // descendants. Reaps those that have ended. `keeper_lives` is called after the processes were
  // listed: if the keeper has ended by then, its children may be in the list, which is discarded.
  void look_beside(pid_t keeper, const std::function<bool()>& keeper_lives);

  // Updates the list after the keeper has ended: the processes already known and their descendants.
  void look_below();

  const ProcessSet& all() const { return all_; }

 private:
  void keep_those_below(const std::vector<ProcessStat>& processes);

  bool possible_;
  ProcessSet all_;
};

}  // namespace plimsoll::process
