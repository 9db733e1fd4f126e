#include "track/log_kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "track/event_file.h"

namespace plimsoll::track {

namespace fs = std::filesystem;

std::string_view name(LogKind kind) {
  switch (kind) {
    case LogKind::tensorboard:
      return "tensorboard";
    case LogKind::csv:
      return "csv";
    case LogKind::prometheus:
      return "prometheus";
    case LogKind::jsonl:
      return "jsonl";
    case LogKind::optuna:
      return "optuna";
  }
  return "";
}

LogKinds parse_logs(std::string_view text, std::span<const LogKind> known) {
  LogKinds kinds;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    const auto found = std::ranges::find_if(known, [&](LogKind one) { return name(one) == word; });
    if (found == known.end()) {
      std::vector<std::string_view> words;
      for (const LogKind one : known) words.push_back(name(one));
      fail(ErrorKind::usage, "--log: '{}' is not a log; there are {}, written like {},{}", word,
           fmt::join(words, ", "), words[0], words[1]);
    }
    kinds.insert(*found);
    if (comma == std::string_view::npos) return kinds;
    text.remove_prefix(comma + 1);
  }
}

std::string format_logs(const LogKinds& kinds) {
  std::vector<std::string_view> words;
  for (const LogKind kind : kinds) words.push_back(name(kind));
  return fmt::format("{}", fmt::join(words, ","));
}

bool is_log_file(std::string_view name) {
  return name == kHistoryTable || name == kHistoryLines || name == kPrometheusFile ||
         is_event_file(name);
}

LogKinds logs_in(const fs::path& folder) {
  LogKinds kinds;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    const std::string file = entry.path().filename().string();
    if (file == kHistoryTable) kinds.insert(LogKind::csv);
    if (file == kHistoryLines) kinds.insert(LogKind::jsonl);
    if (file == kPrometheusFile) kinds.insert(LogKind::prometheus);
    if (is_event_file(file)) kinds.insert(LogKind::tensorboard);
  }
  return kinds;
}

}  // namespace plimsoll::track
