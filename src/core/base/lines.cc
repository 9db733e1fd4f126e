#include "base/lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"

namespace plimsoll {
namespace {

constexpr size_t kBlockBytes = 65536;

}  // namespace

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
