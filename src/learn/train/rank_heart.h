// The thread of a rank that beats, watches the other ranks, and knows whether one is lost. Ranks
// say through c10d's store why the run ends; the first reason counts for all of them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "base/fd.h"
#include "ranks/activity.h"
#include "ranks/beat.h"
#include "ranks/group.h"
#include "ranks/rank_place.h"

namespace plimsoll::train {

// Two connections to the store, because each is for one thread.
struct RankStores {
  c10::intrusive_ptr<c10d::Store> training;
  c10::intrusive_ptr<c10d::Store> beating;
};

// The functions are for the training thread, except finished().
class RankHeart {
 public:
  RankHeart(ranks::RankPlace place, std::vector<ranks::RankProcess> processes, RankStores stores,
            ranks::GroupOptions options);
  RankHeart(const RankHeart&) = delete;
  RankHeart& operator=(const RankHeart&) = delete;
  ~RankHeart() { stop(); }

  void stop();
  // Call it after a loss, before *this is left behind. Rank 0 waits until the others have read the
  // reason. The beating thread stays, and sees to it that the process ends.
  void abandon() noexcept;

  void count_progress();  // from any thread; throws Error{lost} if a rank is lost
  bool lost() const;
  // Whether rank 0 ended without saying why.
  bool first_is_lost() const;

  // Tells the others that this rank ends, and why. Returns false if the run ends already.
  bool give_up(const std::string& why) noexcept;

  // An operation with other ranks: while it lasts, this rank waits and need not make progress.
  using Done = std::shared_ptr<std::atomic<bool>>;
  void begin_operation() { waiting_ = true; }
  void finished(const Done& done);  // from any thread
  void await(const Done& done);     // throws Error{lost} if a rank is lost before
  void end_operation();
  // After a connection has failed: waits until the beats say which rank is lost.
  [[noreturn]] void fail_lost(const std::string& failure);

 private:
  struct Lost {
    unsigned rank = 0;
    std::string cause;
    bool told = false;  // by the rank itself, before it ended
  };
  struct Neighbour {
    unsigned rank = 0;
    Fd handle;  // a pidfd: readable when the process has ended
  };
  void watch_processes();
  void beat(const std::stop_token& stopping);
  void beat_once(ranks::BeatJudge& next);
  bool is_active();
  bool is_waiting();
  void await_end(const std::stop_token& stopping);
  bool read_end();
  // Makes this the reason why the run ends, unless there is one already.
  bool announce(const Lost& lost);
  void wait_for_readers() noexcept;
  void lose(const Lost& lost);
  std::string reason() const;
  [[noreturn]] void throw_lost() const;
  std::string name_of(unsigned rank) const;
  std::string gone_without_a_word() const;

  const ranks::RankPlace place_;
  const std::vector<ranks::RankProcess> processes_;
  const RankStores stores_;
  const ranks::GroupOptions options_;
  std::vector<Neighbour> neighbours_;  // on this host
  const uint64_t killed_before_;
  std::atomic<uint64_t> progress_ = 0;
  std::atomic<bool> waiting_ = false;
  std::atomic<uint64_t> looks_ = 0;  // of the training thread, while it waits
  std::atomic<bool> at_work_ = false;
  std::atomic<bool> suspicious_ = false;
  const Fd wake_;  // an eventfd: readable when the beating thread should end
  // Of the beating thread.
  uint64_t beats_ = 0;
  ranks::ActivityJudge own_activity_;
  uint64_t activity_ = 0;
  uint64_t seen_looks_ = 0;
  bool seen_ = false;  // the store knows that this rank has read the end

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<Lost> lost_;
  std::chrono::steady_clock::time_point store_answered_ = std::chrono::steady_clock::now();

  std::jthread thread_;  // declared last: it uses all of the above
};

}  // namespace plimsoll::train
