#include "track/prometheus_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/print.h"

namespace plimsoll::track {
namespace {

std::string escaped(std::string_view text, bool with_quotes) {
  std::string result;
  for (const char c : valid_utf8(text)) {
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\\' || (c == '"' && with_quotes)) {
      result += {'\\', c};
    } else {
      result += c;
    }
  }
  return result;
}

std::string sample_value(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

void PrometheusText::gauge(std::string_view name, std::string_view help,
                           std::span<const PrometheusLabel> labels, double value) {
  auto family =
      std::ranges::find_if(families_, [&](const Family& one) { return one.name == name; });
  if (family == families_.end()) {
    families_.push_back({.name = std::string(name), .help = std::string(help), .samples = {}});
    family = families_.end() - 1;
  }
  std::string text;
  for (const PrometheusLabel& label : labels) {
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", label.name,
                        escaped(label.value, /*with_quotes=*/true));
  }
  if (!text.empty()) text = "{" + text + "}";
  family->samples += fmt::format("{}{} {}\n", name, text, sample_value(value));
}

std::string PrometheusText::text() const {
  std::string text;
  for (const Family& family : families_) {
    text += fmt::format("# HELP {} {}\n# TYPE {} gauge\n{}", family.name,
                        escaped(family.help, /*with_quotes=*/false), family.name, family.samples);
  }
  return text;
}

std::string prometheus_name(std::string_view text) {
  std::string name(text);
  for (char& c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!fits) c = '_';
  }
  return name;
}

}  // namespace plimsoll::track
