// The results that a rank has computed, kept in a temporary file until rank 0 takes them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>

#include "io/file.h"
#include "io/temp_file.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::train {

// For one thread. First all appends, then finish(), then reads.
class KeptRows {
 public:
  static constexpr uint64_t kPieceBytes = io::kStreamBytes;

  KeptRows(const std::filesystem::path& folder, memory::Ledger& ledger)
      : file_({.folder = folder}), piece_(ledger, "predictions", kPieceBytes) {}

  void append(std::span<const std::byte> bytes);
  void finish();
  // Fills `out` with piece number `piece`; bytes after the last appended one are undefined.
  void read(uint64_t piece, std::span<std::byte> out) const;

 private:
  void flush();

  io::TempFile file_;
  memory::Buffer<std::byte> piece_;
  uint64_t filled_bytes_ = 0;  // of the piece
  uint64_t pieces_ = 0;        // written
};

inline void KeptRows::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const uint64_t count = std::min<uint64_t>(bytes.size(), kPieceBytes - filled_bytes_);
    std::memcpy(piece_.data() + filled_bytes_, bytes.data(), count);
    filled_bytes_ += count;
    bytes = bytes.subspan(count);
    if (filled_bytes_ == kPieceBytes) flush();
  }
}

inline void KeptRows::flush() {
  file_.write(piece_.span(), pieces_ * kPieceBytes);
  ++pieces_;
  filled_bytes_ = 0;
}

inline void KeptRows::finish() {
  if (filled_bytes_ > 0) flush();
}

inline void KeptRows::read(uint64_t piece, std::span<std::byte> out) const {
  // The tensor that `out` belongs to need not be aligned for the disk.
  file_.read(piece_.span(), piece * kPieceBytes);
  std::memcpy(out.data(), piece_.data(), std::min<uint64_t>(out.size(), kPieceBytes));
}

}  // namespace plimsoll::train
