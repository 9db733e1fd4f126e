#include "io/staged_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/error.h"
#include "io/sync.h"

namespace plimsoll::io {
namespace {

namespace fs = std::filesystem;

Fd open_folder(const fs::path& path, int flags = 0) {
  return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
}

// Whether the path still names the folder that `folder` has open.
bool names_same(const fs::path& path, const Fd& folder) {
  struct stat named = {};
  struct stat opened = {};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(folder.get(), &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

fs::path without_trailing_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

StagedFolder::StagedFolder(const fs::path& target, bool replace)
    : target_(without_trailing_slash(target)), replace_(replace) {
  const fs::path name = target_.filename();
  if (name.empty() || name == "." || name == "..") {
    fail(ErrorKind::usage, "'{}' cannot be written: give --out a folder's own name",
         target.string());
  }
  staging_ = target_;
  staging_ += ".partial";
  if (fs::exists(fs::symlink_status(target_)) && !replace_) {
    fail(ErrorKind::exists, "{} exists; give --force to replace it, or another --out",
         target_.string());
  }
  // A rename cannot leave its file system: the parent must be there now, not after hours of work.
  const fs::path parent = folder_of(target_);
  if (!fs::is_directory(parent)) {
    fail(ErrorKind::io, "cannot write {}: the folder {} does not exist", target_.string(),
         parent.string());
  }
  // Between opening the folder and having its lock, its owner may have renamed it to the target or
  // removed it: then what is locked is not what the name means, and it takes another try.
  do {
    removed_remains_ = ::mkdir(staging_.c_str(), 0777) != 0;
    if (removed_remains_ && errno != EEXIST) {
      fail_errno("make the folder", staging_.string(), errno);
    }
    lock_ = open_folder(staging_, O_NOFOLLOW);
    if (!lock_ && errno == ENOENT) continue;
    if (!lock_) fail_errno("use the folder", staging_.string(), errno);
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
      lock_ = Fd();
      fail(ErrorKind::exists, "another run is writing {} now; wait for it or choose another --out",
           staging_.string());
    }
  } while (!lock_ || !names_same(staging_, lock_));
  for (const fs::directory_entry& left_over : fs::directory_iterator(staging_)) {
    fs::remove_all(left_over.path());
  }
}

StagedFolder::~StagedFolder() {
  if (committed_ || !lock_) return;
  std::error_code ignored;  // in a destructor there is nobody to tell
  fs::remove_all(staging_, ignored);
}

// Atomic where the file system can exchange two names, or refuse to overwrite; elsewhere (some
// network disks) in two steps, with the older folder out of the way in between.
void StagedFolder::rename_to_target(bool replacing) {
  const unsigned flags = replacing ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, target_.c_str(), flags) == 0) return;
  if (errno != EINVAL) fail_errno("rename to", target_.string(), errno);
  fs::path older = target_;
  older += ".replaced";
  if (replacing) fs::rename(target_, older);
  fs::rename(staging_, target_);
  if (replacing) fs::rename(older, staging_);
}

void StagedFolder::commit() {
  sync_folder(staging_, lock_);
  const bool replacing = fs::exists(fs::symlink_status(target_));
  if (replacing && !replace_) {
    fail(ErrorKind::exists, "{} appeared while this run was working; give --force to replace it",
         target_.string());
  }
  // The older folder gets the staging name for the moment it takes to remove it: locked, so that no
  // other run takes it for remains.
  const Fd older = replacing ? open_folder(target_, O_NOFOLLOW) : Fd();
  if (older) ::flock(older.get(), LOCK_EX);  // a run that took the wrong one lets go at once
  rename_to_target(replacing);
  committed_ = true;
  ::flock(lock_.get(), LOCK_UN);  // of the target now, where the next commit wants its own
  if (replacing) fs::remove_all(staging_);
  sync_folder(folder_of(target_), lock_);
  lock_ = Fd();
}

}  // namespace plimsoll::io
