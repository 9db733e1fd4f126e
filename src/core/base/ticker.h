// A thread that does something small at regular times: a reading, a sample.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace plimsoll {

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
