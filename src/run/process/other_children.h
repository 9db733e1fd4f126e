// Children of plimsoll that are not of its run. It has some where it replaced a program that had
// children (`sh -c 'server & exec plimsoll exec ...'`), and gets some as the first process of a PID
// namespace. They are waited for, but never ended: when the keeper was killed and its tree has
// become plimsoll's, somebody must know who was there before.
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

#include "process/tree.h"

namespace plimsoll::process {

class OtherChildren {
 public:
  // Before the keeper is forked.
  OtherChildren();

  // False in the usual case: there are none, and there cannot be any.
  bool possible() const { return possible_; }

  // As long as the keeper lives, all children of ours but the keeper are others; so is whatever is
  // below them. Those that have ended are waited for. `keeper_lives` is asked once they were
  // listed: had it ended meanwhile, its children would be among them.
  void look_beside(pid_t keeper, const std::function<bool()>& keeper_lives);

  // When the keeper has gone: whatever is below those already known.
  void look_below();

  const ProcessSet& all() const { return all_; }

 private:
  void keep_those_below(const std::vector<ProcessStat>& processes);

  bool possible_;
  ProcessSet all_;
};

}  // namespace plimsoll::process
