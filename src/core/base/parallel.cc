#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "base/interrupt.h"

namespace plimsoll {

unsigned available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());
}

bool Team::wait_for_turn(size_t turn) {
  std::unique_lock lock(mutex_);
  turned_.wait(lock, [&] { return turn_ == turn || stopping(); });
  return !stopping();
}

void Team::end_turn() {
  throw_if_interrupted();
  const std::lock_guard lock(mutex_);
  ++turn_;
  turned_.notify_all();
}

void Team::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  turned_.notify_all();
}

void run_team(unsigned threads, const std::function<void(Team&)>& member) {
  Team team;
  std::mutex mutex;
  std::exception_ptr first_failure;
  const auto guarded = [&] {
    try {
      member(team);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first_failure) first_failure = std::current_exception();
      team.stop();
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(guarded);
    guarded();
  }
  if (first_failure) std::rethrow_exception(first_failure);
}

void parallel_for(unsigned threads, size_t count, const std::function<void(size_t)>& body) {
  std::atomic<size_t> next = 0;
  run_team(threads, [&](Team& team) {
    for (size_t i = next++; i < count && !team.stopping(); i = next++) {
      throw_if_interrupted();
      body(i);
    }
  });
}

Ticker::Ticker(std::chrono::milliseconds interval, std::function<void()> action)
    : interval_(interval),
      action_(std::move(action)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Ticker::rethrow_failure() const {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void Ticker::run(const std::stop_token& stopping) {
  ::pthread_setname_np(::pthread_self(), "ticker");  // for top and debuggers
  auto next = std::chrono::steady_clock::now();
  try {
    while (!stopping.stop_requested()) {
      action_();
      // Times missed by a slow action, or by a machine that slept, are not made up for.
      next = std::max(next + interval_, std::chrono::steady_clock::now());
      std::unique_lock lock(mutex_);
      stopped_.wait_until(lock, stopping, next, [] { return false; });
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
}

}  // namespace plimsoll
