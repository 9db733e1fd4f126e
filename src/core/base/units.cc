#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace plimsoll {
namespace {

// "G", "GB" and "GiB" all mean 2^30: memory limits are powers of two wherever the kernel keeps
// them.
std::optional<double> unit_factor(std::string_view unit) {
  std::string lower;
  for (char c : unit) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower.empty() || lower == "b") return 1.0;
  constexpr std::string_view kPrefixes = "kmgt";
  const size_t index = kPrefixes.find(lower[0]);
  const std::string_view rest = std::string_view(lower).substr(1);
  if (index == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib")) return {};
  return std::ldexp(1.0, 10 * (static_cast<int>(index) + 1));
}

std::optional<double> seconds_in(std::string_view unit) {
  if (unit.empty() || unit == "s") return 1.0;
  if (unit == "ms") return 0.001;
  if (unit == "m" || unit == "min") return 60.0;
  if (unit == "h") return 3600.0;
  if (unit == "d") return 86400.0;
  return {};
}

}  // namespace

uint64_t parse_bytes(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  const auto factor = unit_factor(unit);
  constexpr double kTooLarge = 9.2e18;
  const bool valid = error == std::errc() && factor && std::isfinite(value) && value >= 0;
  if (!valid || value * *factor > kTooLarge) {
    fail(ErrorKind::usage, "'{}' is not a size; write it like 8G, 512M or 1.5GiB", text);
  }
  return static_cast<uint64_t>(value * *factor);
}

double parse_seconds(std::string_view text) {
  const auto refuse = [text] {
    fail(ErrorKind::usage, "'{}' is not a duration; write it like 90s, 10m or 1h30m", text);
  };
  double sum = 0;
  std::string_view rest = text;
  do {
    double value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || !std::isfinite(value) || value < 0) refuse();
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    const std::string_view unit = rest.substr(0, rest.find_first_of("0123456789."));
    const auto seconds = seconds_in(unit);
    if (!seconds) refuse();
    sum += value * *seconds;
    rest.remove_prefix(unit.size());
  } while (!rest.empty());
  constexpr double kTooLong = 1e9;
  if (sum > kTooLong) refuse();
  return sum;
}

namespace {

std::string format_rounded(uint64_t bytes, double (*round)(double)) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < kKiB) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", round(10 * value) / 10, kUnits.at(unit));
}

}  // namespace

std::string format_bytes(uint64_t bytes) {
  return format_rounded(bytes, [](double value) { return value; });
}

std::string format_bytes_up(uint64_t bytes) {
  return format_rounded(bytes, [](double value) { return std::ceil(value); });
}

std::string format_count(uint64_t count) {
  std::string digits = fmt::format("{}", count);
  for (size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, 1, ',');
  return digits;
}

std::string counted(uint64_t count, std::string_view noun) {
  const bool hisses = noun.ends_with('s') || (noun.ends_with("ch") && noun != "epoch");
  const char* const ending = count == 1 ? "" : hisses ? "es" : "s";
  return format_count(count) + " " + std::string(noun) + ending;
}

std::string format_seconds(double seconds) {
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<uint64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string format_percent(double share) {
  const double percent = share * 100;
  return percent > 0 && percent < 9.95 ? fmt::format("{:.1f} %", percent)
                                       : fmt::format("{:.0f} %", percent);
}

}  // namespace plimsoll
