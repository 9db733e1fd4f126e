// The loop that sees a tree to its end: reaps its processes, reports on its leader, and, once the
// leader has ended or somebody asks, asks all to end, kills what is left after the grace, and
// returns when nothing lives. The keeper runs it; so does plimsoll when its keeper was killed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/fd.h"
#include "process/keeper.h"
#include "process/other_children.h"
#include "process/process_ref.h"
#include "process/tree.h"

namespace plimsoll::process {

struct TreeWatchOptions {
  Tree tree;  // its root is the process that calls run(), a subreaper with SIGCHLD blocked
  pid_t leader =
      0;  // a child of the root, or with a namespace a child of its init; 0: already gone
  double grace_seconds = 10;
  int orders_fd = -1;        // where orders come from; its end of file is an order to end
  int exec_failure_fd = -1;  // where the command's process says that exec failed
  int init_reports_fd = -1;  // where a namespace's init says how the leader ended
  std::function<void(const KeeperReport&)> report;  // may be called until run() returns
  std::function<void()> drain;  // called when `drain_fd` has something, and before `empty`
  int drain_fd = -1;
  OtherChildren* others = nullptr;  // where the root may have children besides the tree
};

class TreeWatch {
 public:
  explicit TreeWatch(TreeWatchOptions options);

  // Begins with the end where there is nobody to give orders.
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
  int empty_looks_ = 0;  // in a row, where others keep the root from running out of children
  uint64_t leftovers_ = 0;
  uint64_t largest_resident_bytes_ = 0;
  double cpu_seconds_ = 0;
};

}  // namespace plimsoll::process
