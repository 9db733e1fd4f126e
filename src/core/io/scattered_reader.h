// Small values from many places of a file at once: what lies below a line, for one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "io/random_read.h"
#include "memory/growing.h"
#include "memory/ledger.h"

namespace plimsoll::io {

struct ReadOptions {
  ReadMethod method = ReadMethod::automatic;
  unsigned depth = kReadDepth;              // requests in flight
  uint64_t room_bytes = uint64_t{1} << 20;  // read at once; more takes several rounds
};

class ScatteredReader {
 public:
  ScatteredReader(memory::Ledger& ledger, const ReadOptions& options);

  // What it holds when `count` places are read at once.
  static uint64_t bytes_needed(const ReadOptions& options, uint64_t count);

  // Forgets all places and makes room for `count` new ones.
  void expect(uint64_t count) {
    count_ = 0;
    wants_.renew(count);
  }
  // Remembers a place of the file; `tag` is the caller's word for it.
  void want(uint64_t offset, uint64_t tag) { wants_[count_++] = {offset, tag}; }
  uint64_t wanted() const { return count_; }

  // Reads `bytes` at every place wanted, each sector once, and hands them over by ascending offset.
  // The data is valid until the next call. Clears the places.
  using Take = std::function<void(uint64_t tag, const std::byte* value)>;
  void read(const RowFile& file, uint32_t bytes, const Take& take);

  // Opened at the first use.
  ReadQueue& queue();
  // Gives its memory back, the queue's, too.
  void release();
  ReadQueue::Counts counts() const { return queue_ ? queue_->counts() : ReadQueue::Counts(); }

 private:
  struct Want {
    uint64_t offset;
    uint64_t tag;
  };
  uint64_t plan_round(const RowFile& file, uint32_t bytes, uint64_t first);

  memory::Ledger& ledger_;
  const ReadOptions options_;
  memory::Growing<Want> wants_;
  uint64_t count_ = 0;
  memory::Growing<Piece> pieces_;
  uint64_t piece_count_ = 0;
  memory::Growing<std::byte> room_;
  std::unique_ptr<ReadQueue> queue_;
};

}  // namespace plimsoll::io
