#include "io/disk.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "base/error.h"

namespace plimsoll::io {

Disk disk_of(const std::filesystem::path& folder) {
  struct stat status = {};
  struct statvfs space = {};
  if (::stat(folder.c_str(), &status) != 0 || ::statvfs(folder.c_str(), &space) != 0) {
    fail_errno("use the folder", folder.string(), errno);
  }
  return {status.st_dev, static_cast<uint64_t>(space.f_bavail) * space.f_frsize};
}

}  // namespace plimsoll::io
