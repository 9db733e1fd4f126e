// The loop that watches a tree until all its processes have ended. It reaps processes and reports
// on the leader. When the leader has ended, or on an order, it asks all processes to end, kills the
// rest after the grace period, and returns when none is alive. The keeper runs this loop; plimsoll
// runs it if its keeper was killed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "process/keeper.h"
#include "process/process_ref.h"
#include "process/tree.h"

namespace plimsoll::process {

// Children of plimsoll that do not belong to its run. There are two cases: plimsoll replaced a
// program that had children (`sh -c 'server & exec plimsoll exec ...'`), or plimsoll is the first
// process of a PID namespace and adopts orphans. plimsoll waits for these children but never ends
// them. It needs the list when the keeper is killed: then the children of the keeper become
// plimsoll's children too, and only they may be ended.
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

struct TreeWatchOptions {
  Tree tree;         // its root is the process that calls run(), a subreaper with SIGCHLD blocked
  pid_t leader = 0;  // a child of the root; 0: already ended, or a child of the namespace's init
  double grace_seconds = kDefaultGraceSeconds;
  int orders_fd = -1;        // source of KeeperOrder; end of file is an order to end the tree
  int exec_failure_fd = -1;  // source of the errno of a failed exec
  int init_reports_fd = -1;  // source of the leader's wait status, from a namespace's init
  std::function<void(const KeeperReport&)> report;  // called until run() returns
  std::function<void()> drain;  // called when `drain_fd` is readable, and before reporting `empty`
  int drain_fd = -1;
  OtherChildren* others = nullptr;  // set if the root may have children outside the tree
};

class TreeWatch {
 public:
  explicit TreeWatch(TreeWatchOptions options);

  // Without an orders_fd it starts to end the tree at once.
  void run();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { running, asked, killing, empty };

  void wait_for_events();
  int next_wake_ms() const;
  void take_orders();
  void take_exec_failure();
  void take_init_report();
  void reap();
  void leader_ended(int wait_status);
  void begin_ending(int first_signal);
  void kill_again();
  void report_empty();
  bool only_others_left();

  TreeWatchOptions options_;
  Fd child_signals_;
  std::optional<ProcessRef> leader_;
  Phase phase_ = Phase::running;
  bool leader_known_ended_ = false;
  Clock::time_point kill_at_;
  std::chrono::milliseconds kill_pause_{1};
  int empty_looks_ = 0;  // consecutive listings without members, while `others` still has children
  uint64_t leftovers_ = 0;
  uint64_t largest_resident_bytes_ = 0;
  double cpu_seconds_ = 0;
};

}  // namespace plimsoll::process
