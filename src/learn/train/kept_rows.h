// Results that a rank has computed, kept in a file without a name until rank 0 takes them.
#pragma once

#include <cstddef>
#include <cstdint>
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
  // Fills `out` with the piece of this number; what is behind the last byte is undefined.
  void read(uint64_t piece, std::span<std::byte> out) const;

 private:
  void flush();

  io::TempFile file_;
  memory::Buffer<std::byte> piece_;
  uint64_t filled_bytes_ = 0;  // of the piece
  uint64_t pieces_ = 0;        // written
};

}  // namespace plimsoll::train
