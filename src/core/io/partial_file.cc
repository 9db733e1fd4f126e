#include "io/partial_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "io/sync.h"

namespace plimsoll::io {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMostWriters = 100;   // of one name at a time
constexpr size_t kMostNameBytes = 255;   // of every file system we know
constexpr size_t kMostEndingBytes = 12;  // ".100.partial"

// NAME.partial, NAME.2.partial, ...; a name that leaves no room for the ending is cut.
fs::path partial_name(const fs::path& target, unsigned writer) {
  const std::string ending = writer == 1 ? ".partial" : fmt::format(".{}.partial", writer);
  const std::string name = target.filename().string();
  return target.parent_path() / (name.substr(0, kMostNameBytes - kMostEndingBytes) + ending);
}

bool names(const fs::path& path, const Fd& file) {
  struct stat named = {};
  struct stat opened = {};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(file.get(), &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

}  // namespace

PartialFile::PartialFile(fs::path target) : target_(std::move(target)) {
  for (unsigned writer = 1; writer <= kMostWriters; ++writer) {
    if (open(partial_name(target_, writer))) return;
  }
  fail(ErrorKind::io, "cannot write {}: {} others write it now", target_.string(), kMostWriters);
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
  // Pipes and devices have nothing to sync.
  if (sync == Sync::yes && ::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS) {
    fail_errno("sync", file.string(), errno);
  }
}

}  // namespace

void write_whole(const fs::path& file, std::string_view text, Sync sync) {
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

}  // namespace plimsoll::io
