#include "process/tree_watch.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/units.h"
#include "process/proc_stat.h"
#include "process/signal_inbox.h"

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

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestKillPause{200};
constexpr milliseconds kLookPause{20};
constexpr int kEmptyLooks = 3;  // several, because a list of processes is not atomic

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

TreeWatch::TreeWatch(TreeWatchOptions options)
    : options_(std::move(options)), child_signals_(open_child_signals()) {
  if (const auto stat = read_stat(options_.leader)) leader_ = ProcessRef::open(*stat);
}

void TreeWatch::run() {
  if (options_.orders_fd < 0) begin_ending(SIGTERM);
  reap();  // processes that ended before we opened the descriptor for SIGCHLD
  while (phase_ != Phase::empty) {
    wait_for_events();
    if (phase_ != Phase::empty) reap();
    if (phase_ == Phase::asked && Clock::now() >= kill_at_) phase_ = Phase::killing;
    if (phase_ == Phase::killing) kill_again();
  }
  report_empty();
}

int TreeWatch::next_wake_ms() const {
  switch (phase_) {
    case Phase::running:
    case Phase::empty:
      return -1;
    case Phase::asked: {
      auto left = std::chrono::ceil<milliseconds>(kill_at_ - Clock::now());
      if (options_.others != nullptr) left = std::min(left, kLookPause);
      return static_cast<int>(std::max<int64_t>(left.count(), 0));
    }
    case Phase::killing:
      return static_cast<int>(kill_pause_.count());
  }
  return -1;
}

void TreeWatch::wait_for_events() {
  // poll() ignores negative descriptors.
  std::array<pollfd, 5> events = {{{.fd = options_.orders_fd, .events = POLLIN},
                                   {.fd = child_signals_.get(), .events = POLLIN},
                                   {.fd = options_.exec_failure_fd, .events = POLLIN},
                                   {.fd = options_.init_reports_fd, .events = POLLIN},
                                   {.fd = options_.drain_fd, .events = POLLIN}}};
  poll(events.data(), events.size(), next_wake_ms());
  if (events[1].revents != 0) read_child_signals(child_signals_);
  if (events[2].revents != 0) take_exec_failure();
  if (events[3].revents != 0) take_init_report();
  if ((events[4].revents & POLLIN) != 0) {
    options_.drain();
  } else if (events[4].revents != 0) {
    options_.drain_fd = -1;  // no process has the other end open any more
  }
  if (events[0].revents != 0) take_orders();
}

void TreeWatch::take_orders() {
  KeeperOrder order;
  const ssize_t count = recv(options_.orders_fd, &order, sizeof order, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count != sizeof order) {  // plimsoll has ended
    options_.orders_fd = -1;
    if (phase_ == Phase::running) begin_ending(SIGTERM);
    return;
  }
  switch (order.kind) {
    case KeeperOrder::Kind::signal_leader:
      if (leader_ && !leader_known_ended_) leader_->signal(order.number);
      break;
    case KeeperOrder::Kind::end:
      if (phase_ == Phase::running) begin_ending(order.number);
      break;
    case KeeperOrder::Kind::kill:
      phase_ = Phase::killing;
      break;
    case KeeperOrder::Kind::beat:
      options_.report({.kind = KeeperReport::Kind::beat});
      break;
  }
}

void TreeWatch::take_exec_failure() {
  int error = 0;
  const ssize_t count = read(options_.exec_failure_fd, &error, sizeof error);
  options_.exec_failure_fd = -1;  // its owner closes it
  if (count == sizeof error) {
    leader_known_ended_ = true;
    options_.report({.kind = KeeperReport::Kind::not_started, .number = error});
    return;
  }
  if (options_.tree.init != 0) {
    // Find the leader's pid in our namespace: it is the only child of the namespace's init.
    for (const ProcessStat& stat : all_processes()) {
      if (stat.parent == options_.tree.init) leader_ = ProcessRef::open(stat);
    }
  }
  options_.report({.kind = KeeperReport::Kind::started,
                   .pid = leader_ ? leader_->pid() : options_.leader,
                   .level = options_.tree.level,
                   .init = options_.tree.init});
}

void TreeWatch::take_init_report() {
  int status = 0;
  const ssize_t count = read(options_.init_reports_fd, &status, sizeof status);
  options_.init_reports_fd = -1;
  if (count == sizeof status) leader_ended(status);
}

void TreeWatch::reap() {
  for (;;) {
    int status = 0;
    rusage usage = {};
    const pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid == 0) {
      if (only_others_left()) phase_ = Phase::empty;
      return;
    }
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) {  // no children means an empty tree: orphaned processes become our children
      phase_ = Phase::empty;
      return;
    }
    if (std::ranges::any_of(options_.tree.others,
                            [pid](const auto& other) { return other.first == pid; })) {
      continue;
    }
    largest_resident_bytes_ =
        std::max(largest_resident_bytes_, static_cast<uint64_t>(usage.ru_maxrss) * kKiB);
    cpu_seconds_ += seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    if (pid == options_.leader || pid == options_.tree.init) {
      if (options_.exec_failure_fd >= 0) take_exec_failure();
      if (options_.init_reports_fd >= 0) take_init_report();
      if (!leader_known_ended_) leader_ended(status);
    }
  }
}

bool TreeWatch::only_others_left() {
  if (options_.others == nullptr) return false;
  options_.others->look_below();
  options_.tree.others = options_.others->all();
  empty_looks_ = members(options_.tree).empty() ? empty_looks_ + 1 : 0;
  return empty_looks_ >= kEmptyLooks;
}

void TreeWatch::leader_ended(int wait_status) {
  if (leader_known_ended_) return;
  leader_known_ended_ = true;
  options_.report({.kind = KeeperReport::Kind::leader_ended, .number = wait_status});
  if (phase_ == Phase::running) {
    siginfo_t any = {};
    // In the usual case no child is left, and the search can be skipped.
    if (waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) < 0) return;
    begin_ending(SIGTERM);
  }
}

void TreeWatch::begin_ending(int first_signal) {
  const bool by_itself = leader_known_ended_;
  const size_t alive = ask_to_end(options_.tree, first_signal);
  if (by_itself) leftovers_ = alive;
  phase_ = Phase::asked;
  kill_at_ =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(std::max(options_.grace_seconds, 0.0)));
}

void TreeWatch::kill_again() {
  kill_members(options_.tree);
  kill_pause_ = std::min(kill_pause_ * 2, kLongestKillPause);
}

void TreeWatch::report_empty() {
  if (options_.drain) options_.drain();
  options_.report({.kind = KeeperReport::Kind::empty,
                   .leftovers = leftovers_,
                   .largest_resident_bytes = largest_resident_bytes_,
                   .cpu_seconds = cpu_seconds_});
}

}  // namespace plimsoll::process
