// The folder for the checkpoints and results of a training (--save-dir).
#pragma once

#include <filesystem>

#include "base/fd.h"

namespace plimsoll::launch {

// Throws Error{exists} if `folder` already holds a run, unless `force`.
void check_new_run(const std::filesystem::path& folder, bool force);

// Throws Error{io} or Error{usage} if `folder` holds no run that can be resumed.
void check_resumable(const std::filesystem::path& folder);

// Whether there is a run that can be resumed: a last.pth.
bool holds_a_run(const std::filesystem::path& folder);

// Creates the folder if necessary and locks it while this lives. Throws Error{exists} if another
// run has locked it.
class SaveFolder {
 public:
  explicit SaveFolder(std::filesystem::path path);

  // Removes the checkpoints and results of an earlier run, so that they are not mistaken for those
  // of this run.
  void clear();

 private:
  std::filesystem::path path_;
  Fd lock_;
};

}  // namespace plimsoll::launch
