#include "io/write_whole.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <system_error>

#include "base/error.h"

namespace plimsoll::io {
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

}  // namespace plimsoll::io
