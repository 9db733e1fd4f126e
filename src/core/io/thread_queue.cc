// Reads by threads that block, for kernels and containers without io_uring. They live as long as
// the queue: starting thirty takes longer than most rounds of reads.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "io/random_read.h"
#include "io/transfers.h"

namespace plimsoll::io {
namespace {

// Measured with reads of 512 bytes on two busy cores, beside 32 threads: 8 do 0.6 times as many,
// 16 0.73, 64 1.16, 128 1.22. There may be as many queues as cores, so these are enough.
constexpr unsigned kMostThreads = 32;
constexpr size_t kStackBytes = 256 * 1024;    // most of it is never touched
constexpr uint64_t kThreadBytes = 32 * 1024;  // what is, and the kernel's own stack
static_assert(kMostThreads * kThreadBytes <= kQueueBytes);

class ThreadQueue final : public ReadQueue {
 public:
  ThreadQueue(memory::Ledger& ledger, unsigned threads)
      : lease_(ledger.lease("read queues", threads * kThreadBytes)) {
    threads_.reserve(threads);
    pthread_attr_t attributes = {};
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, kStackBytes);
    for (unsigned i = 1; i < threads; ++i) {
      pthread_t thread = {};
      if (::pthread_create(&thread, &attributes, &ThreadQueue::run, this) != 0) break;
      threads_.push_back(thread);
    }
    ::pthread_attr_destroy(&attributes);
  }
  ThreadQueue(const ThreadQueue&) = delete;
  ThreadQueue& operator=(const ThreadQueue&) = delete;
  ~ThreadQueue() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
      called_.notify_all();
    }
    for (const pthread_t thread : threads_) ::pthread_join(thread, nullptr);
  }

  std::string method() const override {
    return fmt::format("pread on {} threads", threads_.size() + 1);
  }

 private:
  // What one call of read() shares with the threads.
  struct Round {
    const RowFile& file;
    std::span<const Piece> pieces;
    std::atomic<size_t> next = 0;
    std::atomic<bool> failed = false;
    ReadFailure failure;  // of the one that set `failed`
  };

  void read_all(const RowFile& file, std::span<const Piece> pieces) override {
    Round round{.file = file, .pieces = pieces};
    call(round, static_cast<unsigned>(std::min(pieces.size() - 1, threads_.size())));
    work(round);
    // Threads that have not started by now are not needed; the others still read into the caller's
    // memory.
    std::unique_lock lock(mutex_);
    seats_ = 0;
    left_.wait(lock, [&] { return working_ == 0; });
    if (round.failed) fail_read(file, round.failure);
  }

  void call(Round& round, unsigned helpers) {
    const std::lock_guard lock(mutex_);
    round_ = &round;
    seats_ = helpers;
    for (unsigned i = 0; i < helpers; ++i) called_.notify_one();
  }

  static void* run(void* self) {
    static_cast<ThreadQueue*>(self)->serve();
    return nullptr;
  }

  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      called_.wait(lock, [&] { return seats_ > 0 || closing_; });
      if (closing_) return;
      --seats_;
      ++working_;
      Round& round = *round_;
      lock.unlock();
      work(round);
      lock.lock();
      if (--working_ == 0) left_.notify_one();
    }
  }

  // Throws nothing: a thread that formats a message would need a larger stack.
  static void work(Round& round) {
    while (!round.failed) {
      const size_t i = round.next++;
      if (i >= round.pieces.size()) return;
      Piece rest = round.pieces[i];
      int64_t result = 0;
      ReadStep step = ReadStep::again;
      while (step == ReadStep::again) {
        result =
            ::pread(round.file.file.fd.get(), rest.to, rest.bytes, static_cast<off_t>(rest.offset));
        if (result < 0) result = -errno;
        count_transfer();
        step = advance(round.file, result, rest);
      }
      if (step == ReadStep::failed && !round.failed.exchange(true)) {
        round.failure = failure_of(result, rest);
      }
    }
  }

  memory::Lease lease_;
  std::vector<pthread_t> threads_;  // beside the one that calls read()
  std::mutex mutex_;
  std::condition_variable called_;
  std::condition_variable left_;
  Round* round_ = nullptr;
  unsigned seats_ = 0;    // how many threads may still join this round
  unsigned working_ = 0;  // how many have and are not back
  bool closing_ = false;
};

}  // namespace

std::unique_ptr<ReadQueue> open_thread_queue(memory::Ledger& ledger, unsigned depth) {
  return std::make_unique<ThreadQueue>(ledger, std::min(depth, kMostThreads));
}

}  // namespace plimsoll::io
