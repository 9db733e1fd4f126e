#include "ingest/key_sort.h"

#include <algorithm>
#include <cstring>

#include "base/interrupt.h"

namespace plimsoll::ingest {
namespace {

// Keys of one value need no sorting, only counting: duplicates beyond memory end here.
void emit_repeated(uint64_t key, uint64_t count, const SortJob& job) {
  const auto piece = job.workspace.keys.span();
  while (count > 0) {
    const uint64_t take = std::min<uint64_t>(count, piece.size());
    std::fill_n(piece.begin(), take, key);
    job.sink(piece.first(take));
    count -= take;
  }
}

}  // namespace

std::span<uint64_t> load_sorted(Spill& spill, size_t bucket, SortWorkspace& workspace) {
  auto* next = reinterpret_cast<std::byte*>(workspace.keys.data());
  spill.drain(bucket, workspace.chunk.span(), [&](std::span<const std::byte> records) {
    std::memcpy(next, records.data(), records.size());
    next += records.size();
  });
  const auto keys = workspace.keys.first(spill.bytes(bucket) / sizeof(uint64_t));
  std::sort(keys.begin(), keys.end());
  return keys;
}

void stream_sorted(Spill& spill, size_t bucket, KeyRange range, const SortJob& job) {
  throw_if_interrupted();
  if (fits(spill, bucket, job.workspace)) {
    job.sink(load_sorted(spill, bucket, job.workspace));
    return;
  }
  if (range.first == range.last) {
    emit_repeated(range.first, spill.bytes(bucket) / sizeof(uint64_t), job);
    return;
  }
  const uint64_t width = (range.last - range.first) / kResortBuckets + 1;
  Spill finer(job.ledger, {.temp = job.temp,
                           .buckets = kResortBuckets,
                           .record_bytes = sizeof(uint64_t),
                           .chunk_bytes = kResortChunkBytes});
  spill.drain(bucket, job.workspace.chunk.span(), [&](std::span<const std::byte> records) {
    for (; !records.empty(); records = records.subspan(sizeof(uint64_t))) {
      uint64_t key = 0;
      std::memcpy(&key, records.data(), sizeof key);
      finer.append((key - range.first) / width, records.first(sizeof key));
    }
  });
  finer.seal();
  for (size_t i = 0; i < kResortBuckets; ++i) {
    const uint64_t first = range.first + i * width;
    if (finer.bytes(i) == 0) continue;
    const uint64_t last = std::min(range.last, first + (width - 1));
    stream_sorted(finer, i, {first, last}, job);
  }
}

}  // namespace plimsoll::ingest
