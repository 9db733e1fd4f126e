#include "launch/save_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/run_files.h"
#include "launch/training_record.h"
#include "track/step_log.h"

namespace plimsoll::launch {
namespace {

namespace fs = std::filesystem;

// True for last.pth, best.pth, epoch_010.pth, results.json, diary.json and the logs; clear() does
// not touch other files.
bool is_of_a_run(const std::string& name) {
  const bool of_an_epoch = name.starts_with("epoch_") && name.ends_with(".pth");
  return name == kLastCheckpoint || name == kBestCheckpoint || name == kResultsFile ||
         name == kDiaryFile || of_an_epoch || track::is_log_file(name);
}

// "seed 0", "seeds 0 to 4": those of train --seeds in this folder; empty if there are none.
std::string seeds_in(const fs::path& folder) {
  const std::vector<fs::path> folders = training_folders(folder);
  if (folders.empty() || folders.front() == folder) return "";
  const auto seed_of = [](const fs::path& one) {
    const std::string name = one.filename().string();
    return name.substr(name.find('_') + 1);
  };
  if (folders.size() == 1) return "seed " + seed_of(folders.front());
  return fmt::format("seeds {} to {}", seed_of(folders.front()), seed_of(folders.back()));
}

}  // namespace

void check_new_run(const fs::path& folder, bool force) {
  if (fs::exists(folder) && !fs::is_directory(folder)) {
    fail(ErrorKind::usage, "--save-dir {} is a file; give a folder", folder.string());
  }
  if (force) return;
  if (fs::exists(folder / kLastCheckpoint)) {
    fail(ErrorKind::exists,
         "{} already holds a run; continue it with --resume {}, replace it with --force, or choose "
         "another --save-dir",
         folder.string(), folder.string());
  }
  if (const std::string seeds = seeds_in(folder); !seeds.empty()) {
    fail(ErrorKind::exists,
         "{} holds {} of a training with --seeds; continue them with the command that started them "
         "and --resume {}, or choose another --save-dir for a single training",
         folder.string(), seeds, folder.string());
  }
  if (fs::exists(folder / kBestCheckpoint)) {
    fail(ErrorKind::exists, "{} exists; replace it with --force, or choose another --save-dir",
         (folder / kBestCheckpoint).string());
  }
}

void check_resumable(const fs::path& folder) {
  if (fs::exists(folder) && !fs::is_directory(folder)) {
    fail(ErrorKind::usage, "--resume {} is a file; give the folder that holds last.pth",
         folder.string());
  }
  if (fs::exists(folder / kLastCheckpoint)) return;
  if (const std::string seeds = seeds_in(folder); !seeds.empty()) {
    fail(ErrorKind::usage,
         "--resume {} holds {} of a training with --seeds; continue them with the command that "
         "started them and --resume {}, which includes --seeds",
         folder.string(), seeds, folder.string());
  }
  if (fs::exists(folder / "meta.json")) {
    fail(ErrorKind::usage,
         "--resume {} is a store; give the folder of the run, its --save-dir, which holds last.pth",
         folder.string());
  }
  fail(ErrorKind::io,
       "--resume {}: there is no last.pth to resume from; start a run with --save-dir {}",
       folder.string(), folder.string());
}

bool holds_a_run(const fs::path& folder) { return fs::exists(folder / kLastCheckpoint); }

SaveFolder::SaveFolder(fs::path path) : path_(std::move(path)) {
  fs::create_directories(path_);
  lock_ = Fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock_) fail_errno("use the folder", path_.string(), errno);
  if (::access(path_.c_str(), W_OK) != 0) fail_errno("write to", path_.string(), errno);
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    fail(ErrorKind::exists,
         "another run is writing to {}; wait for it or choose another --save-dir", path_.string());
  }
}

void SaveFolder::clear() {
  for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
    if (is_of_a_run(entry.path().filename().string())) fs::remove(entry.path());
  }
}

}  // namespace plimsoll::launch
