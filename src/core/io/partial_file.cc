#include "io/partial_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "io/transfers.h"

namespace plimsoll::io {
namespace {

namespace fs = std::filesystem;

Fd open_folder(const fs::path& path, int flags = 0) {
  return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
}

void sync_opened(const Fd& opened, const fs::path& folder, const Fd& on_its_disk) {
  const Syncing waiting;
  if (opened && ::fsync(opened.get()) == 0) return;
  if (::syncfs(on_its_disk.get()) != 0) fail_errno("sync", folder.string(), errno);
}

constexpr unsigned kMostWriters = 100;   // of one name at a time
constexpr size_t kMostNameBytes = 255;   // of every file system we know
constexpr size_t kMostEndingBytes = 12;  // ".100.partial"

// NAME.partial, NAME.2.partial, ...; a name that leaves no room for the ending is cut.
fs::path partial_name(const fs::path& target, unsigned writer) {
  const std::string ending = writer == 1 ? ".partial" : fmt::format(".{}.partial", writer);
  const std::string name = target.filename().string();
  return target.parent_path() / (name.substr(0, kMostNameBytes - kMostEndingBytes) + ending);
}

// Whether the path still names the file or folder that is open.
bool names(const fs::path& path, const Fd& file) {
  struct stat named = {};
  struct stat opened = {};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(file.get(), &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

fs::path without_trailing_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

void sync_file(const fs::path& file) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  const Syncing waiting;
  if (!fd || ::fsync(fd.get()) != 0) fail_errno("sync", file.string(), errno);
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
}

void sync_folder(const fs::path& folder, const Fd& on_its_disk) {
  sync_opened(open_folder(folder), folder, on_its_disk);
}

void sync_folder(const fs::path& folder) {
  const Fd opened = open_folder(folder);
  if (!opened) fail_errno("sync", folder.string(), errno);
  sync_opened(opened, folder, opened);
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

PartialFile::PartialFile(fs::path target) : target_(std::move(target)) {
  for (unsigned writer = 1; writer <= kMostWriters; ++writer) {
    if (open(partial_name(target_, writer))) return;
  }
  fail(ErrorKind::io, "cannot write {}: {} other processes are writing it", target_.string(),
       kMostWriters);
}

// False where somebody else writes it, or where it was left by another user.
bool PartialFile::open(const fs::path& path) {
  std::error_code unknown;
  Fd fd;
  do {
    fd = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
    const int obstacle = errno;
    if (!fd && obstacle == EACCES && fs::exists(fs::symlink_status(path, unknown))) return false;
    if (!fd) fail_errno("open", path.string(), obstacle);
    // A file system without locks has one writer for a name at a time.
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
    // Before we had the lock, the file's writer may have given it its name: then it is not ours.
  } while (!names(path, fd));
  if (::ftruncate(fd.get(), 0) != 0) fail_errno("write", path.string(), errno);
  file_ = {.fd = std::move(fd), .path = path.string()};
  return true;
}

PartialFile::~PartialFile() {
  if (!committed_) ::unlink(file_.path.c_str());
}

void PartialFile::append(std::span<const std::byte> bytes) {
  write_fully(file_, bytes, size_bytes_);
  size_bytes_ += bytes.size();
}

void PartialFile::commit(Sync sync) {
  const Syncing waiting;
  if (sync == Sync::yes && ::fsync(file_.fd.get()) != 0) fail_errno("sync", file_.path, errno);
  ::posix_fadvise(file_.fd.get(), 0, 0, POSIX_FADV_DONTNEED);  // nobody reads it soon
  if (::rename(file_.path.c_str(), target_.c_str()) != 0) {
    fail_errno("rename to", target_.string(), errno);
  }
  committed_ = true;
  if (sync == Sync::no) return;
  sync_folder(folder_of(target_), file_.fd);
}

namespace {

namespace fs = std::filesystem;

void write_through(const fs::path& file, std::string_view text, Sync sync) {
  const Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd) fail_errno("open", file.string(), errno);
  while (!text.empty()) {
    const ssize_t count = ::write(fd.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno("write", file.string(), errno);
    text.remove_prefix(static_cast<size_t>(count));
  }
  const Syncing waiting;
  // Pipes and devices have nothing to sync.
  if (sync == Sync::yes && ::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS) {
    fail_errno("sync", file.string(), errno);
  }
}

}  // namespace

void write_whole(const fs::path& file, std::string_view text, Sync sync) {
  std::optional<Uncounted> log;
  if (sync == Sync::no) log.emplace();
  std::error_code unknown;
  const fs::file_type there = fs::symlink_status(file, unknown).type();
  if (there != fs::file_type::regular && there != fs::file_type::not_found) {
    write_through(file, text, sync);
    return;
  }
  PartialFile partial(file);
  partial.append(std::as_bytes(std::span(text)));
  partial.commit(sync);
}

void check_writable(const char* option, const std::filesystem::path& file, bool force) {
  if (std::filesystem::is_directory(file)) {
    fail(ErrorKind::usage, "{} {} is a folder; name a file", option, file.string());
  }
  if (std::filesystem::exists(std::filesystem::symlink_status(file)) && !force) {
    fail(ErrorKind::exists, "{} exists; give --force to replace it, or choose another {}",
         file.string(), option);
  }
  const std::filesystem::path parent = folder_of(file);
  if (!std::filesystem::is_directory(parent)) {
    fail(ErrorKind::io, "cannot write {} {}: the folder {} does not exist", option, file.string(),
         parent.string());
  }
}

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
  // Between opening the folder and locking it, its owner may have renamed it to the target or
  // removed it. The lock is then on a folder of another name: try again.
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
  } while (!lock_ || !names(staging_, lock_));
  for (const fs::directory_entry& left_over : fs::directory_iterator(staging_)) {
    fs::remove_all(left_over.path());
  }
}

StagedFolder::~StagedFolder() {
  if (committed_ || !lock_) return;
  std::error_code ignored;  // a destructor cannot report it
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
  if (older) ::flock(older.get(), LOCK_EX);  // a run that locked it by mistake releases it at once
  rename_to_target(replacing);
  committed_ = true;
  ::flock(lock_.get(), LOCK_UN);  // on the target now, which the next commit must lock
  if (replacing) fs::remove_all(staging_);
  sync_folder(folder_of(target_), lock_);
  lock_ = Fd();
}

}  // namespace plimsoll::io
