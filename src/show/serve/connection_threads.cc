#include "serve/connection_threads.h"

#include <pthread.h>

#include <memory>
#include <utility>

#include "base/units.h"

namespace plimsoll::serve {
namespace {

constexpr size_t kRefusing = 16;  // threads that only say 503
// Virtual; what is not touched costs nothing. The library parses headers with std::regex, which
// recurses for each character of up to 8 KiB.
constexpr size_t kStackBytes = 8 * kMiB;

thread_local bool t_must_refuse = false;

}  // namespace

struct ConnectionThreads::Task {
  ConnectionThreads& owner;
  std::function<void()> work;
  bool refuse;
};

ConnectionThreads::Taken ConnectionThreads::enqueue(std::function<void()> work) {
  std::unique_lock lock(mutex_);
  one_ended_.wait(lock, [&] { return open_ < most_ + kRefusing; });
  auto task = std::make_unique<Task>(Task{*this, std::move(work), open_ >= most_});
  ++open_;
  lock.unlock();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const int problem = pthread_create(&thread, &attributes, &run, task.get());
  pthread_attr_destroy(&attributes);
  if (problem == 0) {
    (void)task.release();  // the thread's, from here on
  } else {
    run(task.release());  // no thread to be had: this one answers
  }
  return static_cast<Taken>(true);
}

void* ConnectionThreads::run(void* task) {
  const std::unique_ptr<Task> own(static_cast<Task*>(task));
  t_must_refuse = own->refuse;
  try {
    own->work();
  } catch (...) {
    // The library answers exceptions of ours with 500; one of its own ends this connection only.
  }
  t_must_refuse = false;
  own->work = nullptr;
  own->owner.ended();
  return nullptr;
}

// The last thing that a thread does with this object: shutdown() may return before it does.
void ConnectionThreads::ended() {
  const std::lock_guard lock(mutex_);
  --open_;
  one_ended_.notify_all();
}

void ConnectionThreads::shutdown() {
  std::unique_lock lock(mutex_);
  one_ended_.wait(lock, [&] { return open_ == 0; });
}

bool ConnectionThreads::must_refuse() { return t_must_refuse; }

}  // namespace plimsoll::serve
