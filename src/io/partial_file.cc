#include "io/partial_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/error.h"

namespace plimsoll::io {

namespace fs = std::filesystem;

PartialFile::PartialFile(fs::path target) : target_(std::move(target)) {
  file_.path = target_.string() + ".partial";
  file_.fd =
      Fd(::open(file_.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file_.fd) fail_errno("open", file_.path, errno);
}

PartialFile::~PartialFile() {
  if (!committed_) ::unlink(file_.path.c_str());
}

void PartialFile::append(std::span<const std::byte> bytes) {
  write_fully(file_, bytes, size_bytes_);
  size_bytes_ += bytes.size();
}

void PartialFile::commit() {
  if (::fsync(file_.fd.get()) != 0) fail_errno("sync", file_.path, errno);
  ::posix_fadvise(file_.fd.get(), 0, 0, POSIX_FADV_DONTNEED);  // nobody reads it soon
  if (::rename(file_.path.c_str(), target_.c_str()) != 0) {
    fail_errno("rename to", target_.string(), errno);
  }
  committed_ = true;
  const fs::path parent = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  const Fd folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0) fail_errno("sync", parent.string(), errno);
}

}  // namespace plimsoll::io
