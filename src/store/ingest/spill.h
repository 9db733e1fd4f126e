// Distribution on disk: records are appended to many buckets in any order and read back one bucket
// at a time, or sorted. Every external pass of an import uses it: sorting edges, renumbering lists,
// permuting feature rows.
//
// A bucket of 64-bit keys that does not fit its workspace (the list of a hub, a skewed numbering)
// is distributed again over finer key ranges, so any input can be sorted with little memory.
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
  // The size of one write: a multiple of the disk's block, at least one record.
  uint64_t chunk_bytes = 256 * 1024;
};

// Takes buckets x chunk_bytes of memory until seal(), and none after it. Any thread may call
// append(). After seal(), any thread may call drain(), but only one for each bucket.
class Spill {
 public:
  Spill(memory::Ledger& ledger, const SpillOptions& options);

  size_t buckets() const { return buckets_.size(); }
  uint64_t chunk_bytes() const { return options_.chunk_bytes; }
  uint64_t bytes(size_t bucket) const { return buckets_[bucket].bytes; }

  // `records` holds whole records, at most one chunk of them.
  void append(size_t bucket, std::span<const std::byte> records);
  // Writes what is still in memory and releases that memory.
  void seal();

  // Calls sink(records) for each chunk of the bucket, in the order they were written, and releases
  // the chunk's disk space. `chunk` is page-aligned memory of chunk_bytes.
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
  uint64_t usable_bytes_;  // chunk_bytes rounded down to whole records
  io::TempFile file_;
  memory::Buffer<std::byte> staging_;  // one chunk per bucket
  std::vector<Bucket> buckets_;
  std::unique_ptr<std::mutex[]> locks_;
  std::atomic<uint32_t> next_chunk_ = 0;
};

// Writes 64-bit keys into a Spill for one thread: collects kKeysPerBucket keys of a bucket before
// it takes the bucket's lock. Call flush() at the end.
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

// One thread's memory for sorting: `keys` holds a bucket, `scratch` has the same size and is needed
// by the sort, `chunk` holds one read from disk.
struct SortWorkspace {
  SortWorkspace(memory::Ledger& ledger, uint64_t workspace_bytes, uint64_t chunk_bytes)
      : keys(ledger, "sort workspaces", workspace_bytes / sizeof(uint64_t) / 2),
        scratch(ledger, "sort workspaces", workspace_bytes / sizeof(uint64_t) / 2),
        chunk(ledger, "sort workspaces", chunk_bytes) {}
  memory::Buffer<uint64_t> keys;
  memory::Buffer<uint64_t> scratch;
  memory::Buffer<std::byte> chunk;
};

inline bool fits(const Spill& spill, size_t bucket, const SortWorkspace& workspace) {
  return spill.bytes(bucket) <= workspace.keys.size() * sizeof(uint64_t);
}

// Radix sort, least significant digit first; bits that are equal in all keys are skipped. `scratch`
// must be at least as long as `keys`; the result is in one of the two.
std::span<uint64_t> radix_sort(std::span<uint64_t> keys, std::span<uint64_t> scratch);

// Reads a bucket that fits and sorts it; the result is in the workspace.
std::span<uint64_t> load_sorted(Spill& spill, size_t bucket, SortWorkspace& workspace);

// The keys that a bucket may hold, both ends included.
struct KeyRange {
  uint64_t first = 0;
  uint64_t last = 0;
};

// For a bucket of any size: calls `sink` with the keys in ascending pieces. The pieces are in
// workspace memory, and `sink` may change them. Takes kResortBytes more from the ledger for every
// level of finer buckets.
constexpr size_t kResortBuckets = 32;
constexpr uint64_t kResortChunkBytes = 64 * 1024;
constexpr uint64_t kResortBytes = kResortBuckets * kResortChunkBytes;
using SortedSink = std::function<void(std::span<uint64_t> keys)>;
struct SortJob {
  memory::Ledger& ledger;
  io::TempPlace temp;
  SortWorkspace& workspace;
  const SortedSink& sink;
};
void stream_sorted(Spill& spill, size_t bucket, KeyRange range, const SortJob& job);

}  // namespace plimsoll::ingest
