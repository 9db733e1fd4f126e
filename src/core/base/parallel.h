// Teams of threads that end together: the first exception stops the others and is rethrown at the
// join.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>

namespace plimsoll {

// The threads this process may use: its CPU affinity, not the machine's core count.
unsigned available_threads();

// What the members of a team share: whether to go on, and whose turn it is.
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

}  // namespace plimsoll
