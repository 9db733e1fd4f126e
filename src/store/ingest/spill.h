// Distribution on disk: records go into one of many buckets in any order and come back a bucket at
// a time. Every external pass of the import (sorting edges, renumbering lists, permuting feature
// rows) is this one mechanism.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "io/temp_file.h"
#include "memory/buffer.h"

namespace plimsoll::ingest {

struct SpillOptions {
  io::TempPlace temp;
  size_t buckets = 1;
  uint64_t record_bytes = 8;  // a chunk holds whole records
  uint64_t chunk_bytes =
      256 * 1024;  // one write; a multiple of the disk's block, at least a record
};

// Memory: buckets x chunk_bytes while it is filled, nothing after seal(). append() may be called by
// any thread; after seal(), any thread may read, one thread a bucket.
class Spill {
 public:
  Spill(memory::Ledger& ledger, const SpillOptions& options);

  size_t buckets() const { return buckets_.size(); }
  uint64_t chunk_bytes() const { return options_.chunk_bytes; }
  uint64_t bytes(size_t bucket) const { return buckets_[bucket].bytes; }

  // `records` is a whole number of records, at most a chunk.
  void append(size_t bucket, std::span<const std::byte> records);
  // Writes what is still in memory and gives that memory back.
  void seal();

  // Calls sink(records) for each chunk of the bucket, in the order of writing, and gives its disk
  // space back. `chunk` is page-aligned memory of chunk_bytes.
  template <typename Sink>
  void drain(size_t bucket, std::span<std::byte> chunk, Sink sink) {
    uint64_t left = buckets_[bucket].bytes;
    for (const uint32_t index : buckets_[bucket].chunks) {
      const uint64_t count = std::min(left, usable_bytes_);
      const uint64_t offset = index * options_.chunk_bytes;
      file_.read(chunk.first(io::round_up_to_block(count)), offset);
      sink(std::span<const std::byte>(chunk.first(count)));
      file_.release(offset, options_.chunk_bytes);
      left -= count;
    }
  }

 private:
  struct Bucket {
    uint64_t bytes = 0;
    std::vector<uint32_t> chunks;  // indices of the chunks in the file
  };
  void write_chunk(size_t bucket, uint64_t bytes);

  SpillOptions options_;
  uint64_t usable_bytes_;  // of a chunk: whole records
  io::TempFile file_;
  memory::Buffer<std::byte> staging_;  // one chunk a bucket
  std::vector<Bucket> buckets_;
  std::unique_ptr<std::mutex[]> locks_;
  std::atomic<uint32_t> next_chunk_ = 0;
};

// One thread's way into a Spill of 64-bit keys: collects a cache line's worth and more for every
// bucket before it takes the bucket's lock. Call flush() at the end.
class KeyScatter {
 public:
  static constexpr size_t kKeysPerBucket = 64;
  static constexpr uint64_t bytes_needed(size_t buckets) {
    return buckets * (kKeysPerBucket * sizeof(uint64_t) + sizeof(uint8_t)) + io::kBlockBytes;
  }

  KeyScatter(memory::Ledger& ledger, Spill& spill);

  void put(size_t bucket, uint64_t key) {
    uint8_t& count = counts_[bucket];
    keys_[bucket * kKeysPerBucket + count] = key;
    if (++count == kKeysPerBucket) flush(bucket);
  }
  void flush();

 private:
  void flush(size_t bucket);

  Spill& spill_;
  memory::Buffer<uint64_t> keys_;
  memory::Buffer<uint8_t> counts_;
};

}  // namespace plimsoll::ingest
