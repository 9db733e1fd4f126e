#include "base/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fd.h"

namespace plimsoll {

std::string read_small_file(const std::filesystem::path& path, uint64_t most_bytes,
                            ErrorKind too_large) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  if (!file || fstat(file.get(), &status) != 0) fail_errno("read", path.string(), errno);
  const auto size = static_cast<uint64_t>(status.st_size);  // 0 of a pipe
  std::string text;
  std::array<char, 16384> part;
  for (;;) {
    const ssize_t count = read(file.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno("read", path.string(), errno);
    if (count == 0) return text;
    text.append(part.data(), static_cast<size_t>(count));
    if (std::max<uint64_t>(text.size(), size) > most_bytes) {
      fail(too_large, "{} has {}{} bytes, {} is the most that such a file may have", path.string(),
           size > most_bytes ? "" : "more than ", std::max(size, most_bytes), most_bytes);
    }
  }
}

}  // namespace plimsoll
