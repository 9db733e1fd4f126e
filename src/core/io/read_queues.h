// The two kinds of ReadQueue, and what they share: what the result of one read means.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "io/random_read.h"

namespace plimsoll::io {

constexpr unsigned kMostReadDepth = 4096;

// No queue where the program was built without liburing or the kernel refuses; `why` says which.
struct UringAttempt {
  std::unique_ptr<ReadQueue> queue;
  std::string why;
};
UringAttempt open_uring_queue(memory::Ledger& ledger, unsigned depth);

std::unique_ptr<ReadQueue> open_thread_queue(memory::Ledger& ledger, unsigned depth);

enum class ReadStep { done, again, failed };

// Takes what a read returned, bytes or minus errno, off what is left of its piece: a read may be
// interrupted or bring less than was asked.
ReadStep advance(const RowFile& file, int64_t result, Piece& rest);

// A read that cannot go on; error_number 0: the file ended before it.
struct ReadFailure {
  Piece rest;
  int error_number = 0;
};
ReadFailure failure_of(int64_t result, const Piece& rest);
[[noreturn]] void fail_read(const RowFile& file, const ReadFailure& failure);

}  // namespace plimsoll::io
