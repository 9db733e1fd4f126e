#include "train/kept_rows.h"

#include <algorithm>
#include <cstring>

namespace plimsoll::train {

void KeptRows::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const uint64_t count = std::min<uint64_t>(bytes.size(), kPieceBytes - filled_bytes_);
    std::memcpy(piece_.data() + filled_bytes_, bytes.data(), count);
    filled_bytes_ += count;
    bytes = bytes.subspan(count);
    if (filled_bytes_ == kPieceBytes) flush();
  }
}

void KeptRows::flush() {
  file_.write(piece_.span(), pieces_ * kPieceBytes);
  ++pieces_;
  filled_bytes_ = 0;
}

void KeptRows::finish() {
  if (filled_bytes_ > 0) flush();
}

void KeptRows::read(uint64_t piece, std::span<std::byte> out) const {
  // The tensor that `out` belongs to need not be aligned for the disk.
  file_.read(piece_.span(), piece * kPieceBytes);
  std::memcpy(out.data(), piece_.data(), std::min<uint64_t>(out.size(), kPieceBytes));
}

}  // namespace plimsoll::train
