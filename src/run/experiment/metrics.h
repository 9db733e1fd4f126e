// Reads a training's metrics from its log with the patterns of the model config. The last match
// counts, and a number may be in any notation.
//
// RE2 takes time proportional to the length of the line for every pattern. Patterns that RE2 does
// not support (lookaround, backreferences) are rejected before a batch starts.
#pragma once

#include <cstdint>
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
  std::string pattern;  // its first group that contains a number is the metric
};

// Why the pattern cannot be used, to follow "the pattern" in a message: "is not a valid regular
// expression (...)". Nothing if it can be used.
std::optional<std::string> obstacle_of_pattern(const std::string& pattern);

// Whether it has a capturing group. A metric's pattern needs one to say where the number is.
bool has_group(const std::string& pattern);

// If the first group is meant for numbers, like ([0-9.]+), widens it to every notation of a number:
// 5e-05, -0.1, inf, nan.
std::string with_any_number(const std::string& pattern);

// Reads a log line by line; base/text_file.h defines a line. All patterns must be usable.
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
  // The number of lines so far in which the metric was found.
  uint64_t lines_with(const std::string& metric) const;

 private:
  struct Metric {
    std::string name;
    std::unique_ptr<re2::RE2> expression;
  };
  std::vector<Metric> metrics_;
  std::map<std::string, std::unique_ptr<re2::RE2>> patterns_;
  std::map<std::string, bool> matched_;
  std::map<std::string, Value> found_;
  std::map<std::string, uint64_t> lines_with_;
};

// All lines of `text`.
void read_lines(std::string_view text, LogReader& reader);

}  // namespace plimsoll::experiment
