// The folder that a training writes its checkpoints and results to: whether it may, and that it is
// alone there.
#pragma once

#include <filesystem>

#include "base/fd.h"

namespace plimsoll::launch {

// Throws Error{exists} where `folder` holds a run already; `force` allows that.
void check_new_run(const std::filesystem::path& folder, bool force);

// Throws Error{io} or Error{usage} where there is no run in `folder` to go on with.
void check_resumable(const std::filesystem::path& folder);

// Made if need be, and locked while this lives: a second run into it is refused with Error{exists}.
class SaveFolder {
 public:
  explicit SaveFolder(std::filesystem::path path);

  // Removes the checkpoints and results of an earlier run, so that nobody takes them for this
  // one's.
  void clear();

 private:
  std::filesystem::path path_;
  Fd lock_;
};

}  // namespace plimsoll::launch
