#include "experiment/metrics.h"

#include <algorithm>
#include <cstdlib>

namespace plimsoll::experiment {
namespace {

// std::regex recurses for every character: a line without an end must not end us.
constexpr size_t kLongestLine = 4096;
constexpr const char* kAnyNumber =
    R"([-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[iI][nN][fF](?:inity)?|[nN][aA][nN]))";

// Python's dialect, as far as it differs: (?P<name>...) and (?i) at the beginning.
std::regex compile(std::string pattern) {
  auto flags = std::regex::ECMAScript | std::regex::optimize;
  if (pattern.starts_with("(?i)")) {
    pattern.erase(0, 4);
    flags |= std::regex::icase;
  }
  for (size_t at = pattern.find("(?P<"); at != std::string::npos; at = pattern.find("(?P<", at)) {
    const size_t end = pattern.find('>', at);
    if (end == std::string::npos) break;
    pattern.erase(at + 1, end - at);
  }
  return std::regex(pattern, flags);
}

struct Group {
  size_t begin = 0;  // of what is inside
  size_t end = 0;
};

// Behind the bracket at `open`, where that begins a capturing group: (...) or (?P<name>...).
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

// Of its groups, the first that begins with a number: those of alternatives may be empty.
template <typename Match>
std::optional<double> first_number(const Match& match) {
  for (size_t group = 1; group < match.size(); ++group) {
    const std::string text = match[group].str();
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end != text.c_str()) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> obstacle_of_pattern(const std::string& pattern) try {
  compile(pattern);
  return std::nullopt;
} catch (const std::regex_error& error) {
  return error.what();
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
  for (const MetricPattern& metric : metrics) {
    metrics_.push_back(
        {.name = metric.name, .expression = compile(with_any_number(metric.pattern))});
  }
  for (const std::string& pattern : patterns) {
    patterns_.emplace(pattern, compile(pattern));
    matched_[pattern] = false;
  }
}

void LogReader::line(std::string_view text) {
  text = text.substr(0, kLongestLine);
  for (const Metric& metric : metrics_) {
    using Matches = std::regex_iterator<std::string_view::const_iterator>;
    for (Matches match(text.begin(), text.end(), metric.expression); match != Matches(); ++match) {
      if (const auto value = first_number(*match)) found_[metric.name] = *value;
    }
  }
  for (const auto& [pattern, expression] : patterns_) {
    bool& matched = matched_[pattern];
    if (!matched) matched = std::regex_search(text.begin(), text.end(), expression);
  }
}

void read_lines(std::string_view text, LogReader& reader) {
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    if (end > 0) reader.line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace plimsoll::experiment
