// Reads many items of a file, each once and in the order of the file, by several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "io/read_plan.h"
#include "io/scattered_reader.h"
#include "memory/index_set.h"
#include "memory/ledger.h"

namespace plimsoll::io {

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
