// The two kinds of ReadQueue, and their common handling of a read's result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "io/random_read.h"

namespace plimsoll::io {

constexpr unsigned kMostReadDepth = 4096;

// No queue if the program was built without liburing or the kernel refuses; `why` says which.
struct UringAttempt {
  std::unique_ptr<ReadQueue> queue;
  std::string why;
};
UringAttempt open_uring_queue(memory::Ledger& ledger, unsigned depth);

std::unique_ptr<ReadQueue> open_thread_queue(memory::Ledger& ledger, unsigned depth);

enum class ReadStep { done, again, failed };

// Subtracts a read's result (bytes or -errno) from the rest of its piece: a read may be interrupted
// or return fewer bytes than asked.
ReadStep advance(const RowFile& file, int64_t result, Piece& rest);

// A read that cannot go on; error_number 0: the file ended before it.
struct ReadFailure {
  Piece rest;
  int error_number = 0;
};
ReadFailure failure_of(int64_t result, const Piece& rest);
[[noreturn]] void fail_read(const RowFile& file, const ReadFailure& failure);

}  // namespace plimsoll::io
