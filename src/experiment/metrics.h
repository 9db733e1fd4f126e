// A training's figures, read from its log by the patterns of the model config: the last match
// counts, and a number may be written in any way.
#pragma once

#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::experiment {

struct MetricPattern {
  std::string name;
  std::string pattern;  // its first group with a number in it is the metric
};

// Why it cannot be used; nothing where it can.
std::optional<std::string> obstacle_of_pattern(const std::string& pattern);

// Whether it says where the number is: a metric's pattern must.
bool has_group(const std::string& pattern);

// The same pattern with a first group that was meant for numbers, as ([0-9.]+), taking every
// notation of one: 5e-05, -0.1, inf, nan.
std::string with_any_number(const std::string& pattern);

// Reads a log a line at a time; carriage returns, as of progress bars, end a line, too.
class LogReader {
 public:
  LogReader(const std::vector<MetricPattern>& metrics, const std::vector<std::string>& patterns);
  void line(std::string_view text);

  const std::map<std::string, double>& metrics() const { return found_; }
  bool matched(const std::string& pattern) const { return matched_.at(pattern); }

 private:
  struct Metric {
    std::string name;
    std::regex expression;
  };
  std::vector<Metric> metrics_;
  std::map<std::string, std::regex> patterns_;
  std::map<std::string, bool> matched_;
  std::map<std::string, double> found_;
};

// All lines of `text`.
void read_lines(std::string_view text, LogReader& reader);

}  // namespace plimsoll::experiment
