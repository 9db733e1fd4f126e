// A file that appears whole or not at all: it grows as NAME.partial, is synced, and renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "io/file.h"

namespace plimsoll::io {

// Whether a file must survive a loss of power. A file that can be made again need not: it saves two
// waits for the disk.
enum class Sync { yes, no };

// Ended without commit(), it is removed, and what had the name before is as it was. The unfinished
// file is locked: a second writer of the name takes NAME.2.partial, and what a killed one left is
// written over. The last one to commit() wins.
class PartialFile {
 public:
  explicit PartialFile(std::filesystem::path target);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();

  const OpenFile& file() const { return file_; }
  void append(std::span<const std::byte> bytes);

  // Syncs the file, gives it its name and syncs the folder.
  void commit(Sync sync = Sync::yes);

 private:
  bool open(const std::filesystem::path& path);

  std::filesystem::path target_;
  OpenFile file_;
  uint64_t size_bytes_ = 0;  // appended so far
  bool committed_ = false;
};

// The one way in which small files are written.

// The file appears whole or not at all, as PartialFile does it, also where several write it at
// once. A device, a pipe or a link is written to and stays what it is. Throws Error.
void write_whole(const std::filesystem::path& file, std::string_view text, Sync sync = Sync::yes);

}  // namespace plimsoll::io
