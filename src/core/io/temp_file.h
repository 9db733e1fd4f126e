// A temporary file without a name: it goes when its owner does, killed or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "io/file.h"

namespace plimsoll::io {

// Where temporary files go, and whether they give their disk space back piece by piece as it is
// read: that costs milliseconds a piece, so only a disk too small to keep everything asks for it.
struct TempPlace {
  std::filesystem::path folder;
  bool release_early = false;
};

// Offsets, lengths and memory are multiples of kBlockBytes (O_DIRECT). Any thread may call any of
// them at any time, on ranges that do not overlap.
class TempFile {
 public:
  explicit TempFile(const TempPlace& place);

  void write(std::span<const std::byte> blocks, uint64_t offset);
  void read(std::span<std::byte> blocks, uint64_t offset) const;

  // The range will not be read again: its disk space may go back.
  void release(uint64_t offset, uint64_t bytes);

  // A path under which this process can open it again.
  std::filesystem::path path() const;

  // Whether the file system of `folder` can give a part of a file back (it makes a file to find
  // out).
  static bool can_release(const std::filesystem::path& folder);

 private:
  OpenFile file_;
  bool release_early_;
};

}  // namespace plimsoll::io
