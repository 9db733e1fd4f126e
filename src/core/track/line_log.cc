#include "track/line_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>
#include <vector>

#include "base/error.h"

namespace plimsoll::track {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostLineBytes = 64 * 1024;  // ours are a few hundred

struct KeptLines {
  uint64_t bytes = 0;
  uint64_t last_step = 0;
};

// The step of a line; 0 if it is not one of ours.
uint64_t step_of(std::string_view line, std::string_view before_step) {
  if (!line.starts_with(before_step)) return 0;
  line.remove_prefix(before_step.size());
  uint64_t step = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), step);
  const bool whole = error == std::errc() && end != line.data() + line.size() && *end == ',';
  return whole ? step : 0;
}

KeptLines lines_to_keep(const fs::path& path, const LineLog::Layout& layout, uint64_t last_step) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(kMostLineBytes);
  KeptLines kept;
  bool first = !layout.header.empty();
  while (file.getline(buffer.data(), static_cast<std::streamsize>(buffer.size())) && !file.eof()) {
    const auto bytes = static_cast<size_t>(file.gcount());
    const std::string_view line(buffer.data(), bytes - 1);
    if (first) {
      if (line != layout.header) return {};
      first = false;
    } else {
      const uint64_t step = step_of(line, layout.before_step);
      if (step <= kept.last_step || step > last_step) break;
      kept.last_step = step;
    }
    kept.bytes += bytes;
  }
  return kept;
}

}  // namespace

LineLog::LineLog(const fs::path& file, const Layout& layout, uint64_t last_step)
    : path_(file.string()),
      file_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (!file_) fail_errno("write", path_, errno);
  const KeptLines kept = lines_to_keep(file, layout, last_step);
  if (::ftruncate(file_.get(), static_cast<off_t>(kept.bytes)) != 0) {
    fail_errno("write", path_, errno);
  }
  last_step_ = kept.last_step;
  if (kept.bytes == 0 && !layout.header.empty()) add(layout.header);
}

void LineLog::add(std::string_view line) {
  std::string text(line);
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_errno("write", path_, errno);
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace plimsoll::track
