#include "ingest/spill.h"

#include <algorithm>

namespace plimsoll::ingest {

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

}  // namespace plimsoll::ingest
