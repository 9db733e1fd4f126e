// Reads many items of a file, each once and in the order of the file, by several threads.
//
// A disk takes some time for every request and some for every byte. So two wanted parts are read by
// one request if the bytes between them take less time than another request: sparse parts stay
// single reads, dense parts become streams.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "io/file.h"
#include "io/scattered_reader.h"
#include "memory/index_set.h"
#include "memory/ledger.h"

namespace plimsoll::io {

struct ReadPrice {
  double request_seconds = 1e-5;
  double byte_seconds = 1e-9;

  bool operator==(const ReadPrice&) const = default;
  // The most bytes between two wanted parts that are read rather than skipped.
  uint64_t widest_gap_bytes() const {
    constexpr double kMost = 1e18;
    const double bytes = byte_seconds <= 0 ? kMost : request_seconds / byte_seconds;
    return static_cast<uint64_t>(std::min(bytes, kMost));
  }
};

struct Extent {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t end() const { return offset + bytes; }
  bool operator==(const Extent&) const = default;
};

struct ReadRules {
  ReadPrice price;
  uint64_t alignment = 1;
  // The most bytes of one request, unless a single wanted part is longer or begins in the last
  // sector of the part before it.
  uint64_t most_bytes = kStreamBytes;

  // The sectors that a wanted part lies in.
  Extent around(const Extent& wanted) const;
  // Whether `next` belongs into the same request; both are whole sectors, in ascending order.
  bool joins(const Extent& open, const Extent& next) const;
};

// The requests for these parts, which are in ascending order. No byte is read twice.
std::vector<Extent> plan_reads(const ReadRules& rules, std::span<const Extent> wanted);

struct BulkOptions {
  ReadOptions reading = {.room_bytes = uint64_t{2} << 20};  // of each thread
  ReadPrice price;
  unsigned threads = 8;  // some wait for the disk while others hand over what they have read
};

// For one thread at a time.
class BulkReader {
 public:
  // The ledger must outlive it.
  BulkReader(memory::Ledger& ledger, const BulkOptions& options);
  ~BulkReader();

  static uint64_t bytes_needed(const BulkOptions& options);

  // The items of the file have `item_bytes` each; the last one may be cut off by the end of the
  // file. Every item of the set is handed over once, with its rank in the set, by several threads
  // at the same time. Throws as ReadQueue::read() does; some items have been handed over then.
  using Take = std::function<void(uint64_t item, uint64_t rank, const std::byte* bytes)>;
  void read(const RowFile& file, const memory::IndexSet& items, uint32_t item_bytes,
            const Take& take);

  // Gives its memory back, the queues', too.
  void release();
  ReadQueue::Counts counts() const;
  // Empty if nothing was read.
  std::string method() const;

 private:
  class Reader;

  memory::Ledger& ledger_;
  const BulkOptions options_;
  std::vector<std::unique_ptr<Reader>> readers_;
  ReadQueue::Counts released_;  // of queues that are closed
  std::string method_;
};

}  // namespace plimsoll::io
