#include "diagnosis/kernel_log.h"

#include <sys/klog.h>

#include <algorithm>
#include <charconv>

#include "base/host.h"
#include "base/units.h"

namespace plimsoll::diagnosis {
namespace {

constexpr int kReadAll = 3;      // SYSLOG_ACTION_READ_ALL
constexpr int kBufferSize = 10;  // SYSLOG_ACTION_SIZE_BUFFER

// "<4>[30530.724110] text": returns the seconds and leaves the text in `line`.
double take_time(std::string_view& line) {
  const size_t open = line.find('[');
  const size_t close = line.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || open > 4) return 0;
  std::string_view digits = line.substr(open + 1, close - open - 1);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  double seconds = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  line.remove_prefix(std::min(close + 2, line.size()));
  return seconds;
}

std::string between(std::string_view text, std::string_view open, std::string_view close) {
  const size_t start = text.find(open);
  if (start == std::string_view::npos) return {};
  const size_t end = text.find(close, start + open.size());
  if (end == std::string_view::npos) return {};
  return std::string(text.substr(start + open.size(), end - start - open.size()));
}

// "Killed process 4711 (python) total-vm:9kB, anon-rss:8kB, ..."
KernelNote oom_note(std::string_view line, KernelNote::What what, double seconds) {
  KernelNote note{.what = what, .seconds_after_boot = seconds};
  note.process = between(line, "(", ")");
  if (const auto kib = leading_number(between(line, "anon-rss:", "kB"))) {
    note.resident = format_bytes(*kib * kKiB);
  }
  return note;
}

}  // namespace

std::vector<KernelNote> parse_kernel_log(std::string_view log) {
  std::vector<KernelNote> notes;
  while (!log.empty()) {
    const size_t end = log.find('\n');
    std::string_view line = log.substr(0, end);
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
    const double seconds = take_time(line);
    if (line.starts_with("Memory cgroup out of memory: Kill")) {
      notes.push_back(oom_note(line, KernelNote::What::oom_in_group, seconds));
    } else if (line.starts_with("Out of memory: Kill")) {
      notes.push_back(oom_note(line, KernelNote::What::oom_on_host, seconds));
    } else if (line.find("]: segfault at ") != std::string_view::npos) {
      notes.push_back({.what = KernelNote::What::segfault,
                       .process = std::string(line.substr(0, line.find('['))),
                       .seconds_after_boot = seconds});
    }
  }
  return notes;
}

std::optional<std::string> read_kernel_log() {
  const int size = klogctl(kBufferSize, nullptr, 0);
  if (size <= 0) return {};
  std::string log(static_cast<size_t>(size), '\0');
  const int count = klogctl(kReadAll, log.data(), size);
  if (count < 0) return {};
  log.resize(static_cast<size_t>(count));
  return log;
}

}  // namespace plimsoll::diagnosis
