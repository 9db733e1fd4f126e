// Reads through io_uring: one system call hands over every free place of the queue and waits for
// at least one answer.
//
// A ring without flags, of plain reads. Measured beside it, with 256 reads of 512 bytes under way
// on two cores that others kept busy: DEFER_TASKRUN 1.055 times as many reads, COOP_TASKRUN 1.01,
// a registered file 1.01, waiting for 16 answers at a time 1.00, 512 under way 1.00, 128 under
// way 0.81. DEFER_TASKRUN ties the ring to one thread, and making another for the next thread may
// fail in the middle of the work. Registered memory gives 1.05 as well, but memory that was
// unmapped and mapped again at the same address would silently get nothing.
#include <liburing.h>
#include <sched.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "io/random_read.h"
#include "io/transfers.h"
#include "memory/buffer.h"

namespace plimsoll::io {
namespace {

// The kernel's side of the queue: 64 bytes a request, 16 an answer and twice as many of these.
constexpr uint64_t kRingBytesAPlace = 64 + 2 * 16 + 4;
static_assert(kReadDepth * (kRingBytesAPlace + sizeof(Piece) + sizeof(unsigned)) +
                  3 * memory::kPageBytes <=
              kQueueBytes);

class Ring {
 public:
  // Check error() before anything else.
  explicit Ring(unsigned depth) : error_(-::io_uring_queue_init(depth, &ring_, 0)) {
    if (error_ == 0 && !can_read()) {
      ::io_uring_queue_exit(&ring_);
      error_ = ENOSYS;
    }
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    if (error_ == 0) ::io_uring_queue_exit(&ring_);
  }

  int error() const { return error_; }
  io_uring* get() { return &ring_; }

 private:
  // Kernels before 5.6 have the ring, but not this request.
  bool can_read() {
    io_uring_probe* probe = ::io_uring_get_probe_ring(&ring_);
    if (probe == nullptr) return false;
    const bool can = io_uring_opcode_supported(probe, IORING_OP_READ) != 0;
    ::io_uring_free_probe(probe);
    return can;
  }

  io_uring ring_ = {};
  int error_ = 0;
};

// A place holds what is left of a piece. Each is free, prepared (in the ring, unknown to the
// kernel) or under way; the ring has room for all of them, so that none is ever refused.
class UringQueue final : public ReadQueue {
 public:
  UringQueue(memory::Ledger& ledger, unsigned depth, std::unique_ptr<Ring> ring)
      : ring_lease_(ledger.lease("read queues", depth * kRingBytesAPlace)),
        ring_(std::move(ring)),
        places_(ledger, "read queues", depth),
        free_(ledger, "read queues", depth),
        free_count_(depth) {
    for (unsigned i = 0; i < depth; ++i) free_[i] = i;
  }

  std::string method() const override { return "io_uring"; }

 private:
  void read_all(const RowFile& file, std::span<const Piece> pieces) override {
    if (ring_->error() != 0) give_up(file, ring_->error());  // it could not be made anew
    std::optional<ReadFailure> failure;
    size_t next = 0;
    // After a failure nothing new begins, but whatever the ring holds still writes into the
    // caller's memory and is waited for.
    while (prepared_ + under_way_ > 0 || (next < pieces.size() && !failure)) {
      for (; next < pieces.size() && free_count_ > 0 && !failure; ++next) {
        const unsigned place = free_[--free_count_];
        places_[place] = pieces[next];
        prepare(file, place);
      }
      if (const int error = submit_and_wait(); error != 0) give_up(file, error);
      take_answers(file, failure);
    }
    if (failure) fail_read(file, *failure);
  }

  void prepare(const RowFile& file, unsigned place) {
    io_uring_sqe* entry = ::io_uring_get_sqe(ring_->get());
    const Piece& rest = places_[place];
    ::io_uring_prep_read(entry, file.file.fd.get(), rest.to, rest.bytes, rest.offset);
    ::io_uring_sqe_set_data64(entry, place);
    ++prepared_;
  }

  // 0, or an errno that waiting does not mend.
  int submit_and_wait() {
    const int result = ::io_uring_submit_and_wait(ring_->get(), 1);
    if (result >= 0) {
      prepared_ -= static_cast<unsigned>(result);
      under_way_ += static_cast<unsigned>(result);
      return 0;
    }
    if (result == -EAGAIN || result == -EBUSY) ::sched_yield();  // the kernel lacks memory now
    return result == -EINTR || result == -EAGAIN || result == -EBUSY ? 0 : -result;
  }

  void take_answers(const RowFile& file, std::optional<ReadFailure>& failure) {
    unsigned head = 0;
    unsigned taken = 0;
    io_uring_cqe* answer = nullptr;
    io_uring_for_each_cqe(ring_->get(), head, answer) {
      ++taken;
      const auto place = static_cast<unsigned>(::io_uring_cqe_get_data64(answer));
      const ReadStep step = advance(file, answer->res, places_[place]);
      if (step == ReadStep::again && !failure) {
        prepare(file, place);
        continue;
      }
      if (step == ReadStep::failed && !failure) failure = failure_of(answer->res, places_[place]);
      free_[free_count_++] = place;
    }
    ::io_uring_cq_advance(ring_->get(), taken);
    if (taken > 0) count_transfer();
    under_way_ -= taken;
  }

  // The kernel takes no more requests. What it has is waited for; what it has not must never
  // reach it later, so the ring is made anew.
  [[noreturn]] void give_up(const RowFile& file, int error) {
    std::optional<ReadFailure> failure = ReadFailure{{}, error};
    while (under_way_ > 0) {
      ::io_uring_get_events(ring_->get());
      take_answers(file, failure);
      ::sched_yield();
    }
    prepared_ = 0;
    free_count_ = static_cast<unsigned>(free_.size());
    for (unsigned i = 0; i < free_count_; ++i) free_[i] = i;
    ring_.reset();
    ring_ = std::make_unique<Ring>(free_count_);
    fail(ErrorKind::io, "io_uring refuses reads of {}: {}", file.file.path, std::strerror(error));
  }

  memory::Lease ring_lease_;
  std::unique_ptr<Ring> ring_;
  memory::Buffer<Piece> places_;
  memory::Buffer<unsigned> free_;  // the first free_count_ are places that nothing uses
  unsigned free_count_;
  unsigned prepared_ = 0;
  unsigned under_way_ = 0;
};

}  // namespace

UringAttempt open_uring_queue(memory::Ledger& ledger, unsigned depth) {
  auto ring = std::make_unique<Ring>(depth);
  if (ring->error() != 0) {
    return {nullptr, fmt::format("the kernel refuses it ({})", std::strerror(ring->error()))};
  }
  return {std::make_unique<UringQueue>(ledger, depth, std::move(ring)), {}};
}

}  // namespace plimsoll::io
