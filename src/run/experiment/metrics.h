// A training's figures, read from its log by the patterns of the model config: the last match
// counts, and a number may be written in any way.
//
// RE2 takes time in proportion to the line, whatever the pattern; what cannot be matched that way
// (lookaround, backreferences) is refused before a batch starts.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/values.h"

namespace re2 {
class RE2;
}

namespace plimsoll::experiment {

struct MetricPattern {
  std::string name;
  std::string pattern;  // its first group with a number in it is the metric
};

// Why it cannot be used, as what follows "the pattern": "is no regular expression (...)"; nothing
// where it can.
std::optional<std::string> obstacle_of_pattern(const std::string& pattern);

// Whether it says where the number is: a metric's pattern must.
bool has_group(const std::string& pattern);

// The same pattern with a first group that was meant for numbers, as ([0-9.]+), taking every
// notation of one: 5e-05, -0.1, inf, nan.
std::string with_any_number(const std::string& pattern);

// Reads a log a line at a time; base/text_file.h says what a line is. The patterns can be used.
class LogReader {
 public:
  LogReader(const std::vector<MetricPattern>& metrics, const std::vector<std::string>& patterns);
  ~LogReader();
  LogReader(LogReader&& other) noexcept;
  LogReader& operator=(LogReader&& other) noexcept;
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  void line(std::string_view text);

  const std::map<std::string, Value>& metrics() const { return found_; }
  bool matched(const std::string& pattern) const { return matched_.at(pattern); }

 private:
  struct Metric {
    std::string name;
    std::unique_ptr<re2::RE2> expression;
  };
  std::vector<Metric> metrics_;
  std::map<std::string, std::unique_ptr<re2::RE2>> patterns_;
  std::map<std::string, bool> matched_;
  std::map<std::string, Value> found_;
};

// All lines of `text`.
void read_lines(std::string_view text, LogReader& reader);

}  // namespace plimsoll::experiment
