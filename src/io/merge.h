// From the bytes that are wanted to the reads that bring them: pure arithmetic. Wanted ranges
// that share a sector, touch, or lie a small gap apart come with one read.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/units.h"
#include "io/random_read.h"
#include "memory/growing.h"

namespace plimsoll::io {

struct ByteRange {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct MergeRule {
  uint64_t alignment = 512;            // of the file; a power of two
  uint64_t gap_bytes = 0;              // read along rather than begin another read
  uint64_t largest_bytes = 64 * kKiB;  // of one read; a multiple of the alignment
};

// The reads, and where each wanted range will lie. They fill one area from its start without
// gaps, in the order of the file, so a range that two reads bring is still in one piece. Keeps
// its room for the next time.
class MergedReads {
 public:
  MergedReads(memory::Ledger& ledger, std::string_view tag)
      : pieces_(ledger, tag), positions_(ledger, tag) {}

  // Ranges ascend by offset; they may overlap, repeat or be empty.
  void plan(std::span<const ByteRange> ranges, const MergeRule& rule);
  // Row r is at r * row_bytes. Rows ascend and may repeat.
  void plan_rows(std::span<const uint32_t> rows, uint64_t row_bytes, const MergeRule& rule);

  uint64_t area_bytes() const { return area_bytes_; }
  // Aims the reads at an area of area_bytes(), aligned as the file asks (a memory::Buffer is).
  std::span<const Piece> aim(std::byte* area);

  // By wanted range, in the order given: where in the area its first byte lies.
  std::span<const uint64_t> positions() const { return positions_.first(wanted_); }

 private:
  template <typename RangeAt>
  void merge(uint64_t count, const MergeRule& rule, RangeAt range_at);
  void add_run(uint64_t begin, uint64_t end, const MergeRule& rule);

  memory::Growing<Piece> pieces_;
  memory::Growing<uint64_t> positions_;
  uint64_t piece_count_ = 0;
  uint64_t wanted_ = 0;
  uint64_t area_bytes_ = 0;
};

}  // namespace plimsoll::io
