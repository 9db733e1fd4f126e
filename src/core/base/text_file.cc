#include "base/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>

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

namespace {

constexpr size_t kBlockBytes = 65536;

}  // namespace

std::string read_end(const std::filesystem::path& path, uint64_t most_bytes) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0) fail(ErrorKind::io, "cannot read {}; is it a file?", path.string());
  const auto count = std::min(size, static_cast<std::streamoff>(most_bytes));
  std::string text(static_cast<size_t>(count), '\0');
  file.seekg(size - count);
  file.read(text.data(), count);
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

void LineSplitter::add(std::string_view block) {
  const auto is_end = [](char c) { return c == '\n' || c == '\r'; };
  while (!block.empty()) {
    const auto* const end = std::find_if(block.begin(), block.end(), is_end);
    const auto size = static_cast<size_t>(end - block.begin());
    append(block.substr(0, size));
    if (size == block.size()) return;
    finish();
    block.remove_prefix(size + 1);
  }
}

void LineSplitter::append(std::string_view part) {
  while (part.size() > kMostLineBytes - line_.size()) {
    const size_t room = kMostLineBytes - line_.size();
    line_.append(part.substr(0, room));
    part.remove_prefix(room);
    take_(line_);
    line_.erase(0, line_.size() - kLineOverlapBytes);
  }
  line_.append(part);
}

void LineSplitter::finish() {
  if (!line_.empty()) take_(line_);
  line_.clear();
}

void for_each_line(const std::filesystem::path& file, const LineSplitter::TakeLine& take) {
  const Fd log(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!log) return;
  LineSplitter lines(take);
  std::string block(kBlockBytes, '\0');
  for (;;) {
    const ssize_t count = read(log.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    lines.add({block.data(), static_cast<size_t>(count)});
  }
  lines.finish();
}

}  // namespace plimsoll
