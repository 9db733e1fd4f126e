#include "io/merge.h"

#include <algorithm>

namespace plimsoll::io {

// A run is what is read in one go but for the largest size of a read: it begins and ends at a
// multiple of the alignment, and grows as long as the next range begins within the gap.
template <typename RangeAt>
void MergedReads::merge(uint64_t count, const MergeRule& rule, RangeAt range_at) {
  positions_.renew(count);
  wanted_ = count;
  piece_count_ = 0;
  area_bytes_ = 0;
  const uint64_t mask = rule.alignment - 1;
  uint64_t* positions = positions_.data();
  uint64_t begin = 0;
  uint64_t end = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const ByteRange range = range_at(i);
    if (range.bytes == 0) {
      positions[i] = area_bytes_;
      continue;
    }
    const uint64_t range_begin = range.offset & ~mask;
    if (begin == end || range_begin > end + rule.gap_bytes) {
      add_run(begin, end, rule);
      begin = end = range_begin;
    }
    end = std::max(end, (range.offset + range.bytes + mask) & ~mask);
    positions[i] = area_bytes_ + (range.offset - begin);
  }
  add_run(begin, end, rule);
}

void MergedReads::add_run(uint64_t begin, uint64_t end, const MergeRule& rule) {
  area_bytes_ += end - begin;
  for (; begin < end; begin += rule.largest_bytes) {
    pieces_.reserve(piece_count_ + 1, piece_count_);
    pieces_[piece_count_++] = {
        begin, static_cast<uint32_t>(std::min(end - begin, rule.largest_bytes)), nullptr};
  }
}

void MergedReads::plan(std::span<const ByteRange> ranges, const MergeRule& rule) {
  merge(ranges.size(), rule, [&](uint64_t i) { return ranges[i]; });
}

void MergedReads::plan_rows(std::span<const uint32_t> rows, uint64_t row_bytes,
                            const MergeRule& rule) {
  merge(rows.size(), rule, [&](uint64_t i) { return ByteRange{rows[i] * row_bytes, row_bytes}; });
}

std::span<const Piece> MergedReads::aim(std::byte* area) {
  const std::span<Piece> pieces = pieces_.first(piece_count_);
  for (Piece& piece : pieces) {
    piece.to = area;
    area += piece.bytes;
  }
  return pieces;
}

}  // namespace plimsoll::io
