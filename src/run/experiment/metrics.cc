#include "experiment/metrics.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/print.h"
#include "base/text_file.h"

namespace plimsoll::experiment {
namespace {

using re2::RE2;
using re2::StringPiece;

constexpr const char* kAnyNumber =
    R"([-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[iI][nN][fF](?:inity)?|[nN][aA][nN]))";

std::unique_ptr<RE2> compile(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  return std::make_unique<RE2>(pattern, options);
}

// Syntax of other engines that RE2 does not support, because it cannot be matched in time
// proportional to the length of the line.
struct Unsupported {
  std::string_view begin;
  std::string_view what;
  std::string_view instead;
};
constexpr std::string_view kWholeText =
    "write the text around the number into the pattern, and only the number into the group, as in "
    "loss: ([0-9.]+)";
constexpr std::array kUnsupported = {
    Unsupported{"(?=", "a lookahead", kWholeText},
    Unsupported{"(?!", "a negative lookahead", kWholeText},
    Unsupported{"(?<=", "a lookbehind", kWholeText},
    Unsupported{"(?<!", "a negative lookbehind", kWholeText},
    Unsupported{"(?P=", "a backreference", "write the text out a second time"},
    Unsupported{"(?(", "a condition", "write both cases as alternatives, as in a|b"},
    Unsupported{"(?>", "an atomic group", "use a plain group, (?:...)"},
    Unsupported{"(?<", "a named group of another dialect", "write it as (?P<name>...)"},
};

std::optional<std::string> unsupported_part(std::string_view pattern) {
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
      if (!in_class && i < pattern.size() && pattern[i] >= '1' && pattern[i] <= '9') {
        return fmt::format(
            "has a backreference, \\{}, which is not supported; write the text out "
            "a second time",
            pattern[i]);
      }
    } else if (in_class || pattern[i] == '[') {
      in_class = pattern[i] != ']';
    } else {
      for (const Unsupported& part : kUnsupported) {
        if (!pattern.substr(i).starts_with(part.begin)) continue;
        return fmt::format("has {}, {}...), which is not supported; {}", part.what, part.begin,
                           part.instead);
      }
    }
  }
  return std::nullopt;
}

struct Group {
  size_t begin = 0;  // of the text inside
  size_t end = 0;
};

// If the bracket at `open` begins a capturing group, (...) or (?P<name>...): where its content
// begins.
std::optional<size_t> inside_of_group(const std::string& pattern, size_t open) {
  if (pattern.compare(open + 1, 1, "?") != 0) return open + 1;
  if (pattern.compare(open + 1, 3, "?P<") != 0) return std::nullopt;
  const size_t end = pattern.find('>', open);
  return end == std::string::npos ? std::nullopt : std::optional(end + 1);
}

std::optional<Group> first_group(const std::string& pattern) {
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (in_class || pattern[i] == '[') {
      in_class = pattern[i] != ']';
    } else if (const auto inside = pattern[i] == '(' ? inside_of_group(pattern, i) : std::nullopt) {
      size_t depth = 1;
      for (size_t j = *inside; j < pattern.size(); ++j) {
        if (pattern[j] == '\\') {
          ++j;
        } else if (pattern[j] == '(') {
          ++depth;
        } else if (pattern[j] == ')' && --depth == 0) {
          return Group{.begin = *inside, .end = j};
        }
      }
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// A search may scan the whole rest of a line even for a short match, as with a.*b|c in a line
// without b. Many matches would then take quadratic time. So all matches after the first
// kSearchesOfAll are searched in windows that overlap by half.
constexpr size_t kSearchesOfAll = 32;
constexpr size_t kWindowBytes = 1024;

// Calls `take` with the groups of every match; the first of them is the whole match.
template <typename Take>
void for_each_match(const RE2& expression, std::string_view text, const Take& take) {
  std::vector<StringPiece> groups(static_cast<size_t>(expression.NumberOfCapturingGroups()) + 1);
  const StringPiece piece(text.data(), text.size());
  size_t matches = 0;
  for (size_t at = 0; at <= text.size();) {
    const size_t window = matches < kSearchesOfAll ? text.size() : kWindowBytes;
    const size_t end = std::min(text.size(), at + window);
    if (!expression.Match(piece, at, end, RE2::UNANCHORED, groups.data(),
                          static_cast<int>(groups.size()))) {
      if (end == text.size()) return;
      at = end - kWindowBytes / 2;
      continue;
    }
    const auto begin = static_cast<size_t>(groups[0].data() - text.data());
    const size_t behind = begin + groups[0].size();
    if (behind == end && end < text.size() && begin > at) {
      at = begin;  // the match may continue after the window
      continue;
    }
    ++matches;
    take(groups);
    at = behind;
    if (!groups[0].empty()) continue;
    const auto next = at < text.size() ? first_character(text.substr(at)) : std::nullopt;
    at += next ? next->bytes : 1;
  }
}

// The first group that begins with a number; groups of other alternatives may be empty.
std::optional<Value> first_number(const std::vector<StringPiece>& groups) {
  for (size_t i = 1; i < groups.size(); ++i) {
    if (auto value = parse_value({groups[i].data(), groups[i].size()})) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> obstacle_of_pattern(const std::string& pattern) {
  const auto expression = compile(pattern);
  if (expression->ok()) return std::nullopt;
  if (auto part = unsupported_part(pattern)) return part;
  return fmt::format("is not a valid regular expression ({})", expression->error());
}

bool has_group(const std::string& pattern) { return first_group(pattern).has_value(); }

std::string with_any_number(const std::string& pattern) {
  const auto group = first_group(pattern);
  if (!group) return pattern;
  const std::string inside = pattern.substr(group->begin, group->end - group->begin);
  const bool for_numbers =
      inside.find_first_not_of(R"([]()0123456789.\d+-*?eE:|{},)") == std::string::npos &&
      (inside.find("0-9") != std::string::npos || inside.find("\\d") != std::string::npos);
  if (!for_numbers) return pattern;
  return pattern.substr(0, group->begin) + kAnyNumber + pattern.substr(group->end);
}

LogReader::LogReader(const std::vector<MetricPattern>& metrics,
                     const std::vector<std::string>& patterns) {
  const auto usable = [](const std::string& pattern) {
    auto expression = compile(pattern);
    if (!expression->ok()) fail(ErrorKind::internal, "the pattern {} was not checked", pattern);
    return expression;
  };
  for (const MetricPattern& metric : metrics) {
    metrics_.push_back(
        {.name = metric.name, .expression = usable(with_any_number(metric.pattern))});
  }
  for (const std::string& pattern : patterns) {
    patterns_.emplace(pattern, usable(pattern));
    matched_[pattern] = false;
  }
}

LogReader::~LogReader() = default;
LogReader::LogReader(LogReader&&) noexcept = default;
LogReader& LogReader::operator=(LogReader&&) noexcept = default;

void LogReader::line(std::string_view text) {
  // RE2 works on characters: a byte that is not valid UTF-8 would match nothing, not even `.`.
  const std::string valid = valid_utf8(text);
  for (const Metric& metric : metrics_) {
    bool found = false;
    for_each_match(*metric.expression, valid, [&](const std::vector<StringPiece>& groups) {
      const auto value = first_number(groups);
      if (!value) return;
      found_[metric.name] = *value;
      found = true;
    });
    if (found) ++lines_with_[metric.name];
  }
  for (const auto& [pattern, expression] : patterns_) {
    bool& matched = matched_[pattern];
    if (!matched) matched = RE2::PartialMatch(valid, *expression);
  }
}

uint64_t LogReader::lines_with(const std::string& metric) const {
  const auto found = lines_with_.find(metric);
  return found == lines_with_.end() ? 0 : found->second;
}

void read_lines(std::string_view text, LogReader& reader) {
  LineSplitter lines([&](std::string_view line) { reader.line(line); });
  lines.add(text);
  lines.finish();
}

}  // namespace plimsoll::experiment
