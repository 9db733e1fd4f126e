#include "ingest/spill.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/interrupt.h"

namespace plimsoll::ingest {
namespace {

constexpr uint32_t kDigits = 2048;  // 11 bits: the counters stay in the first-level cache

// Emits `count` equal keys: they need no sorting, however many they are.
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

Spill::Spill(memory::Ledger& ledger, const SpillOptions& options)
    : options_(options),
      usable_bytes_(options.chunk_bytes / options.record_bytes * options.record_bytes),
      file_(options.temp),
      staging_(ledger, "spill buffers", options.buckets * options.chunk_bytes),
      buckets_(options.buckets),
      locks_(std::make_unique<std::mutex[]>(options.buckets)) {}

void Spill::append(size_t bucket, std::span<const std::byte> records) {
  const std::lock_guard lock(locks_[bucket]);
  std::byte* const chunk = staging_.data() + bucket * options_.chunk_bytes;
  while (!records.empty()) {
    const uint64_t filled = buckets_[bucket].bytes % usable_bytes_;
    const size_t take = std::min<size_t>(records.size(), usable_bytes_ - filled);
    std::memcpy(chunk + filled, records.data(), take);
    records = records.subspan(take);
    buckets_[bucket].bytes += take;
    if (filled + take == usable_bytes_) write_chunk(bucket, usable_bytes_);
  }
}

void Spill::write_chunk(size_t bucket, uint64_t bytes) {
  const uint32_t index = next_chunk_++;
  buckets_[bucket].chunks.push_back(index);
  file_.write(staging_.span().subspan(bucket * options_.chunk_bytes, io::round_up_to_block(bytes)),
              index * options_.chunk_bytes);
}

void Spill::seal() {
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    if (const uint64_t filled = buckets_[bucket].bytes % usable_bytes_) write_chunk(bucket, filled);
  }
  staging_ = {};
}

KeyScatter::KeyScatter(memory::Ledger& ledger, Spill& spill)
    : spill_(spill),
      keys_(ledger, "spill buffers", spill.buckets() * kKeysPerBucket),
      counts_(ledger, "spill buffers", spill.buckets()) {}

void KeyScatter::flush(size_t bucket) {
  const auto keys = keys_.span().subspan(bucket * kKeysPerBucket, counts_[bucket]);
  spill_.append(bucket, std::as_bytes(keys));
  counts_[bucket] = 0;
}

void KeyScatter::flush() {
  for (size_t bucket = 0; bucket < spill_.buckets(); ++bucket) flush(bucket);
}

std::span<uint64_t> radix_sort(std::span<uint64_t> keys, std::span<uint64_t> scratch) {
  uint64_t differing = 0;
  for (const uint64_t key : keys) differing |= key ^ keys.front();
  std::array<uint32_t, kDigits> next = {};
  while (differing != 0) {
    const int shift = std::countr_zero(differing);
    differing &= ~(uint64_t{kDigits - 1} << shift);
    next.fill(0);
    for (const uint64_t key : keys) ++next[(key >> shift) % kDigits];
    uint32_t begin = 0;
    for (uint32_t& count : next) begin += std::exchange(count, begin);
    for (const uint64_t key : keys) scratch[next[(key >> shift) % kDigits]++] = key;
    const auto sorted = scratch.first(keys.size());
    scratch = keys;
    keys = sorted;
  }
  return keys;
}

std::span<uint64_t> load_sorted(Spill& spill, size_t bucket, SortWorkspace& workspace) {
  auto* next = reinterpret_cast<std::byte*>(workspace.keys.data());
  spill.drain(bucket, workspace.chunk.span(), [&](std::span<const std::byte> records) {
    std::memcpy(next, records.data(), records.size());
    next += records.size();
  });
  return radix_sort(workspace.keys.first(spill.bytes(bucket) / sizeof(uint64_t)),
                    workspace.scratch.span());
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
