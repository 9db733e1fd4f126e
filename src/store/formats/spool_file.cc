#include "formats/spool_file.h"

#include <algorithm>

namespace plimsoll::formats {

SpoolFile::SpoolFile(memory::Ledger& ledger, const std::filesystem::path& folder)
    : file_({.folder = folder}), block_(ledger, "file buffers", kBlockValues) {}

void SpoolFile::append(std::span<const uint32_t> values) {
  while (!values.empty()) {
    const size_t take = std::min<size_t>(values.size(), kBlockValues - filled_);
    std::copy_n(values.begin(), take, block_.begin() + filled_);
    values = values.subspan(take);
    filled_ += take;
    if (filled_ == kBlockValues) write_block();
  }
}

// Also writes the last block whole, with unused values at its end: the file takes whole disk
// blocks.
void SpoolFile::write_block() {
  file_.write(std::as_bytes(block_.span()), position_ * sizeof(uint32_t));
  position_ += filled_;
  filled_ = 0;
}

void SpoolFile::rewind() {
  if (filled_ > 0) write_block();
  count_ = position_;
  position_ = 0;
}

std::span<const uint32_t> SpoolFile::next() {
  position_ += filled_;
  filled_ = std::min<uint64_t>(kBlockValues, count_ - position_);
  if (filled_ > 0) {
    file_.read(std::as_writable_bytes(block_.span()), position_ * sizeof(uint32_t));
  }
  return block_.first(filled_);
}

}  // namespace plimsoll::formats
