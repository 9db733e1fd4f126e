#include "io/temp_file.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/error.h"

namespace plimsoll::io {

TempFile::TempFile(const TempPlace& place) : release_early_(place.release_early) {
  std::string path = (place.folder / "plimsoll-XXXXXX").string();
  const Fd placeholder(::mkostemp(path.data(), O_CLOEXEC));
  if (!placeholder) fail_errno("make a temporary file in", place.folder.string(), errno);
  try {
    file_ = open_uncached(path, O_RDWR);
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
  ::unlink(path.c_str());
  file_.path = "a temporary file in " + place.folder.string();
}

void TempFile::write(std::span<const std::byte> blocks, uint64_t offset) {
  write_fully(file_, blocks, offset);
  if (file_.direct) return;
  // Written out and dropped at once: slower than leaving it to the kernel, but the cache stays
  // empty.
  ::sync_file_range(file_.fd.get(), static_cast<off_t>(offset), static_cast<off_t>(blocks.size()),
                    SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  ::posix_fadvise(file_.fd.get(), static_cast<off_t>(offset), static_cast<off_t>(blocks.size()),
                  POSIX_FADV_DONTNEED);
}

void TempFile::read(std::span<std::byte> blocks, uint64_t offset) const {
  read_fully(file_, blocks, offset);
  if (file_.direct) return;
  ::posix_fadvise(file_.fd.get(), static_cast<off_t>(offset), static_cast<off_t>(blocks.size()),
                  POSIX_FADV_DONTNEED);
}

void TempFile::release(uint64_t offset, uint64_t bytes) {
  if (!release_early_) return;
  ::fallocate(file_.fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(offset), static_cast<off_t>(bytes));
}

bool TempFile::can_release(const std::filesystem::path& folder) {
  const TempFile file({.folder = folder});
  return ::fallocate(file.file_.fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                     kBlockBytes) == 0;
}

std::filesystem::path TempFile::path() const {
  return fmt::format("/proc/self/fd/{}", file_.fd.get());
}

}  // namespace plimsoll::io
