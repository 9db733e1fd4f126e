#include "io/scattered_reader.h"

#include <algorithm>

namespace plimsoll::io {

ScatteredReader::ScatteredReader(memory::Ledger& ledger, const ReadOptions& options)
    : ledger_(ledger),
      options_(options),
      wants_(ledger, "reading"),
      pieces_(ledger, "reading"),
      room_(ledger, "reading") {}

// With its queue. A piece has a sector at least: there are no more of them than sectors in the
// room.
uint64_t ScatteredReader::bytes_needed(const ReadOptions& options, uint64_t count) {
  return memory::Growing<Want>::renewed_bytes(count) +
         memory::Growing<Piece>::grown_bytes(std::min(count, options.room_bytes / kSectorBytes)) +
         memory::Growing<std::byte>::renewed_bytes(options.room_bytes) + kQueueBytes;
}

ReadQueue& ScatteredReader::queue() {
  if (!queue_) queue_ = ReadQueue::open(ledger_, options_.method, options_.depth);
  return *queue_;
}

void ScatteredReader::release() {
  count_ = 0;
  wants_.release();
  pieces_.release();
  room_.release();
  queue_.reset();
}

// Lays out pieces for the wants from `first` on until the room is full; returns where to go on.
// Wants whose sectors touch share a piece.
uint64_t ScatteredReader::plan_round(const RowFile& file, uint32_t bytes, uint64_t first) {
  const uint64_t alignment = file.alignment;
  piece_count_ = 0;
  uint64_t used = 0;
  for (uint64_t i = first; i < count_; ++i) {
    const uint64_t begin = wants_[i].offset / alignment * alignment;
    const uint64_t end = (wants_[i].offset + bytes + alignment - 1) / alignment * alignment;
    if (piece_count_ > 0) {
      Piece& last = pieces_[piece_count_ - 1];
      const uint64_t last_end = last.offset + last.bytes;
      if (begin <= last_end) {
        const uint64_t more = end > last_end ? end - last_end : 0;
        if (used + more > room_.capacity()) return i;
        last.bytes += static_cast<uint32_t>(more);
        used += more;
        continue;
      }
    }
    if (used + (end - begin) > room_.capacity()) return i;
    pieces_.reserve(piece_count_ + 1, piece_count_);
    pieces_[piece_count_++] = {begin, static_cast<uint32_t>(end - begin), room_.data() + used};
    used += end - begin;
  }
  return count_;
}

void ScatteredReader::read(const RowFile& file, uint32_t bytes, const Take& take) {
  if (count_ == 0) return;
  room_.renew(std::max<uint64_t>(options_.room_bytes, bytes + 2 * file.alignment));
  std::sort(wants_.data(), wants_.data() + count_,
            [](const Want& a, const Want& b) { return a.offset < b.offset; });
  for (uint64_t first = 0; first < count_;) {
    const uint64_t last = plan_round(file, bytes, first);
    queue().read(file, pieces_.first(piece_count_));
    uint64_t piece = 0;
    for (; first < last; ++first) {
      const uint64_t offset = wants_[first].offset;
      while (offset >= pieces_[piece].offset + pieces_[piece].bytes) ++piece;
      take(wants_[first].tag, pieces_[piece].to + (offset - pieces_[piece].offset));
    }
  }
  count_ = 0;
}

}  // namespace plimsoll::io
