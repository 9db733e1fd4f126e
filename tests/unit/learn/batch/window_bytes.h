// What windows hold and read, in bytes.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "feature/rows.h"
#include "io/bulk_reader.h"
#include "memory/ledger.h"

namespace plimsoll::batch {

inline uint64_t used_for_windows(const memory::Ledger& ledger) {
  for (const auto& usage : ledger.usage()) {
    if (usage.tag == "windows") return usage.bytes;
  }
  return 0;
}

inline uint64_t whole_pages(uint64_t bytes) {
  return (bytes + memory::kPageBytes - 1) / memory::kPageBytes * memory::kPageBytes;
}

// The least bytes that reads can bring for these rows, if each row is read once.
inline uint64_t least_read_bytes(const feature::RowSource& rows, const std::set<uint64_t>& wanted) {
  std::vector<io::Extent> extents;
  const uint64_t row_bytes = rows.shape().row_bytes;
  for (const uint64_t row : wanted) extents.push_back({row * row_bytes, row_bytes});
  uint64_t bytes = 0;
  for (const io::Extent& read : io::plan_reads(
           {.price = {.request_seconds = 0}, .alignment = rows.file().file().alignment}, extents)) {
    bytes += read.bytes;
  }
  return bytes;
}
// A sector at the border of two threads' parts may be read by both.
inline uint64_t at_borders(const feature::RowSource& rows) {
  return 64 * rows.file().file().alignment;
}

}  // namespace plimsoll::batch
