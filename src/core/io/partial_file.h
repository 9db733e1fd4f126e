// Files and folders that appear complete or not at all: they are written as NAME.partial, synced
// and renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/fd.h"
#include "io/file.h"

namespace plimsoll::io {

// Waiting until files and folders are on the disk. Every writer that renames uses these functions.

// Syncs a file that somebody else has written and removes it from the page cache, which a memory
// limit counts. Throws Error.
void sync_file(const std::filesystem::path& file);

// Syncs the names in a folder. If the folder may not be read, or its file system syncs no folders,
// all of the disk is synced through `on_its_disk`, any open file there. Throws Error.
void sync_folder(const std::filesystem::path& folder, const Fd& on_its_disk);

// The same for a folder that can be opened.
void sync_folder(const std::filesystem::path& folder);

// The folder that lists `path`.
std::filesystem::path folder_of(const std::filesystem::path& path);

// Whether a file must survive a loss of power. A file that can be made again need not: it saves two
// waits for the disk.
enum class Sync { yes, no };

// A file that appears when it is complete. Without commit() it is removed, and a file that had the
// name before stays as it was. The unfinished file is locked: a second writer of the same name uses
// NAME.2.partial, and a file that a killed writer left is overwritten. The last one to commit()
// wins.
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

// A folder that appears when it is complete. Holds a lock on NAME.partial while it lives. Removes
// what a killed run left there. Throws if another run is writing it. Without commit(), the folder
// is removed.
class StagedFolder {
 public:
  // Throws Error{exists} if `target` exists and `replace` is false.
  StagedFolder(const std::filesystem::path& target, bool replace);
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  ~StagedFolder();

  // Where to write until commit().
  const std::filesystem::path& path() const { return staging_; }
  const std::filesystem::path& target() const { return target_; }
  bool removed_remains() const { return removed_remains_; }

  // Syncs the folder and gives it its name; an older one of that name is replaced and removed.
  // Files must have been synced by their writers.
  void commit();

 private:
  void rename_to_target(bool replacing);

  std::filesystem::path target_;
  std::filesystem::path staging_;
  Fd lock_;
  bool replace_;
  bool removed_remains_ = false;
  bool committed_ = false;
};

}  // namespace plimsoll::io
