#include "base/ticker.h"

#include <algorithm>
#include <utility>

namespace plimsoll {

Ticker::Ticker(std::chrono::milliseconds interval, std::function<void()> action)
    : interval_(interval),
      action_(std::move(action)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Ticker::rethrow_failure() const {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void Ticker::run(const std::stop_token& stopping) {
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
