// Threads: teams that end together, where the first exception stops the others and is rethrown at
// the join; and a thread that does something small at regular times.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace plimsoll {

// The threads this process may use: its CPU affinity, not the machine's core count.
unsigned available_threads();

// The state that the members of a team share: whether to continue, and whose turn it is.
class Team {
 public:
  // True once a member has failed or the user has interrupted; a member then returns soon.
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

  // Blocks until every turn below `turn` has been ended. False when the team is stopping.
  bool wait_for_turn(size_t turn);
  void end_turn();

 private:
  friend void run_team(unsigned threads, const std::function<void(Team&)>& member);
  void stop();

  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::condition_variable turned_;
  size_t turn_ = 0;
};

// Runs `member` on `threads` threads, the calling one among them, and waits for all.
void run_team(unsigned threads, const std::function<void(Team&)>& member);

// Runs body(i) once for every i below count, in any order.
void parallel_for(unsigned threads, size_t count, const std::function<void(size_t)>& body);

// Runs produce(workspace, i) in parallel and consume(workspace, i) one at a time in the order of i.
// Every thread makes one workspace and uses it for all its items: memory is bounded by threads of
// them.
template <typename MakeWorkspace, typename Produce, typename Consume>
void parallel_ordered(unsigned threads, size_t count, MakeWorkspace make_workspace, Produce produce,
                      Consume consume) {
  std::atomic<size_t> next = 0;
  run_team(threads, [&](Team& team) {
    auto workspace = make_workspace();
    for (size_t i = next++; i < count && !team.stopping(); i = next++) {
      produce(workspace, i);
      if (!team.wait_for_turn(i)) return;
      consume(workspace, i);
      team.end_turn();
    }
  });
}

// Runs `action` on a thread of its own, at once and then every `interval`, until it ends. Ends
// without waiting for the next time, but waits for an action that runs: an action must not destroy
// its ticker. An action that throws is not run again; what it threw is kept for the owner.
class Ticker {
 public:
  Ticker(std::chrono::milliseconds interval, std::function<void()> action);

  // Throws what the action threw, if it did.
  void rethrow_failure() const;

 private:
  void run(const std::stop_token& stopping);

  const std::chrono::milliseconds interval_;
  const std::function<void()> action_;
  mutable std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::exception_ptr failure_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace plimsoll
