// Sorts the buckets of a Spill of 64-bit keys. A bucket that does not fit its workspace (the list
// of a hub, a skewed numbering) is distributed again over finer key ranges, so any input can be
// sorted with little memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "ingest/spill.h"
#include "memory/buffer.h"

namespace plimsoll::ingest {

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
