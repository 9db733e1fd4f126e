// A file that appears complete or not at all: it is written as NAME.partial, synced and renamed.
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

// Without commit() it is removed, and a file that had the name before stays as it was. The
// unfinished file is locked: a second writer of the same name uses NAME.2.partial, and a file that
// a killed writer left is overwritten. The last one to commit() wins.
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

// All small files are written by this function. Like a PartialFile, the file appears complete or
// not at all, even if several processes write it at once. A device, a pipe or a link is written in
// place, not replaced. Throws Error.
void write_whole(const std::filesystem::path& file, std::string_view text, Sync sync = Sync::yes);

// Throws Error{usage, exists or io} if the file that the option of a command names cannot be
// written. For use before any work.
void check_writable(const char* option, const std::filesystem::path& file, bool force);

}  // namespace plimsoll::io
