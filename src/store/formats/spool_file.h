// A temporary file for values that are needed later than they arrive.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "io/temp_file.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::formats {

// Written in order, then read in order. The file has no name: the kernel removes it when its owner
// ends, even if it is killed.
class SpoolFile {
 public:
  static constexpr uint64_t kBlockValues = io::kStreamBytes / sizeof(uint32_t);

  SpoolFile(memory::Ledger& ledger, const std::filesystem::path& folder);

  void append(std::span<const uint32_t> values);

  // Ends writing; next() starts at the first value.
  void rewind();

  // The next values, at most kBlockValues, valid until the next call; empty at the end.
  std::span<const uint32_t> next();

 private:
  void write_block();

  io::TempFile file_;
  memory::Buffer<uint32_t> block_;  // being filled; after rewind() the block last read
  uint64_t filled_ = 0;             // values in the block
  uint64_t position_ = 0;           // values before the block
  uint64_t count_ = 0;              // all values; set by rewind()
};

}  // namespace plimsoll::formats
