#include "io/sync.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace plimsoll::io {
namespace {

namespace fs = std::filesystem;

Fd open_to_sync(const fs::path& folder) {
  return Fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void sync_opened(const Fd& opened, const fs::path& folder, const Fd& on_its_disk) {
  if (opened && ::fsync(opened.get()) == 0) return;
  if (::syncfs(on_its_disk.get()) != 0) fail_errno("sync", folder.string(), errno);
}

}  // namespace

void sync_file(const fs::path& file) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) fail_errno("sync", file.string(), errno);
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
}

void sync_folder(const fs::path& folder, const Fd& on_its_disk) {
  sync_opened(open_to_sync(folder), folder, on_its_disk);
}

void sync_folder(const fs::path& folder) {
  const Fd opened = open_to_sync(folder);
  if (!opened) fail_errno("sync", folder.string(), errno);
  sync_opened(opened, folder, opened);
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace plimsoll::io
