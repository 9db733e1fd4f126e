// A folder that appears whole or not at all: it is filled as NAME.partial, synced, and renamed.
#pragma once

#include <filesystem>

#include "base/fd.h"

namespace plimsoll::io {

// Holds a lock on NAME.partial while it lives. Removes what a killed run left there. Throws if
// another run is writing it. Without commit(), the folder is removed.
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
