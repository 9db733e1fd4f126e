// The threads of the connections, one for each as long as it is open. An open page is a thread that
// waits, with a few pages of stack.
#pragma once

#include <httplib.h>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>

namespace plimsoll::serve {

// Up to `most` connections are answered. A few more get threads, too, but are to be refused: see
// must_refuse(). Beyond that, new connections wait in the kernel's queue until one ends.
class ConnectionThreads : public httplib::TaskQueue {
 public:
  // Later versions of the library want to know whether the task was taken.
  using Taken = decltype(std::declval<httplib::TaskQueue&>().enqueue(std::function<void()>()));

  explicit ConnectionThreads(size_t most) : most_(most) {}
  ~ConnectionThreads() override { shutdown(); }

  Taken enqueue(std::function<void()> work) override;
  // Waits until all connections have ended.
  void shutdown() override;

  // Whether the connection of the calling thread is one too many.
  static bool must_refuse();

 private:
  struct Task;
  static void* run(void* task);
  void ended();

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable one_ended_;
  size_t open_ = 0;
};

}  // namespace plimsoll::serve
