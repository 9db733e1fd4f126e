#include "batch/packed_rows.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "io/disk.h"
#include "io/file.h"

namespace plimsoll::batch {

PackedRows::PackedRows(const Options& options, memory::Ledger& ledger)
    : row_bytes_(options.row_bytes),
      most_bytes_(io::disk_of(options.folder).free_bytes / 2),
      file_({.folder = options.folder}),
      blocks_(ledger, "packed rows", options.batches) {}

void PackedRows::begin(uint64_t drawing) {
  const std::lock_guard lock(mutex_);
  if (drawing == drawing_) return;
  drawing_ = drawing;
  std::fill(blocks_.begin(), blocks_.end(), Block{});
  end_bytes_ = 0;
}

bool PackedRows::has(const Want& want) const {
  const std::lock_guard lock(mutex_);
  const Block& block = blocks_[want.batch];
  return want.rows > 0 && block.rows == want.rows && block.resident_rows == want.resident_rows;
}

uint64_t PackedRows::bytes_of(const Want& want) const {
  return io::round_up_to_block(want.rows * row_bytes_);
}

void PackedRows::read(const Want& want, std::span<std::byte> to) const {
  const uint64_t offset = [&] {
    const std::lock_guard lock(mutex_);
    return blocks_[want.batch].offset;
  }();
  file_.read(to.first(bytes_of(want)), offset);
}

bool PackedRows::reserve(uint64_t bytes, uint64_t& offset) {
  const std::lock_guard lock(mutex_);
  if (broken_ || bytes > most_bytes_ - std::min(most_bytes_, end_bytes_)) return false;
  offset = end_bytes_;
  end_bytes_ += bytes;
  return true;
}

void PackedRows::put(const Want& want, const std::function<const std::byte*(uint64_t i)>& row,
                     std::span<std::byte> stage) {
  uint64_t begin = 0;
  if (want.rows == 0 || !reserve(bytes_of(want), begin)) return;
  uint64_t offset = begin;
  uint64_t filled = 0;
  const auto flush = [&] {
    const uint64_t bytes = io::round_up_to_block(filled);
    file_.write(stage.first(bytes), offset);
    offset += bytes;
    filled = 0;
  };
  try {
    for (uint64_t i = 0; i < want.rows; ++i) {
      const std::byte* from = row(i);
      for (uint64_t done = 0; done < row_bytes_;) {
        const uint64_t piece = std::min(row_bytes_ - done, stage.size() - filled);
        std::memcpy(stage.data() + filled, from + done, piece);
        done += piece;
        filled += piece;
        if (filled == stage.size()) flush();
      }
    }
    if (filled > 0) flush();
  } catch (const Error&) {
    // Not an error: the rows can still be read from the store, only slower.
    const std::lock_guard lock(mutex_);
    broken_ = true;
    return;
  }
  const std::lock_guard lock(mutex_);
  blocks_[want.batch] = {begin, want.rows, want.resident_rows};
}

}  // namespace plimsoll::batch
