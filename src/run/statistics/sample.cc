#include "statistics/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace plimsoll::statistics {
namespace {

constexpr int kMostDecimals = 6;  // more decimals than that: powers of ten
constexpr double kLarge = 1e7;    // at least that: powers of ten
constexpr int kAloneDigits = 4;   // of a number whose spread is unknown
constexpr int kExactDigits = 6;   // of a number that did not vary

int exponent_of(double number) {
  return number == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(number))));
}

// The decimals at which the spread has two digits. A spread of 0.0996 is 0.10, with two decimals.
int decimals_for(double deviation) {
  const int exponent = exponent_of(deviation);
  const double unit = std::pow(10, exponent - 1);
  return std::round(deviation / unit) >= 100 ? -exponent : 1 - exponent;
}

std::string rounded(double number, int decimals) {
  if (decimals >= 0) return fmt::format("{:.{}f}", number, decimals);
  const double unit = std::pow(10, -decimals);
  return fmt::format("{:.0f}", std::round(number / unit) * unit);
}

}  // namespace

Moments moments_of(std::span<const double> values) {
  Moments moments{.count = values.size()};
  if (values.empty()) return moments;
  const auto count = static_cast<double>(values.size());
  moments.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() < 2) return moments;
  double squares = 0;
  for (const double value : values) squares += (value - moments.mean) * (value - moments.mean);
  moments.deviation = std::sqrt(squares / (count - 1));
  return moments;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

Ranks ranks_of(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  Ranks ranks{.rank = std::vector<double>(values.size())};
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double shared = static_cast<double>(begin + 1 + end) / 2;
    for (size_t i = begin; i < end; ++i) ranks.rank[order[i]] = shared;
    const auto size = static_cast<double>(end - begin);
    ranks.tie_term += size * size * size - size;
    begin = end;
  }
  return ranks;
}

std::string format_with_spread(double number, std::optional<double> deviation) {
  if (!std::isfinite(number)) return fmt::format("{}", number);
  if (!deviation) return fmt::format("{:.{}g}", number, kAloneDigits);
  if (*deviation == 0) return fmt::format("{:.{}g}", number, kExactDigits);
  const int decimals = decimals_for(*deviation);
  if (decimals <= kMostDecimals && std::abs(number) < kLarge) return rounded(number, decimals);
  const int exponent = std::max(exponent_of(number), exponent_of(*deviation));
  return fmt::format("{:.{}f}e{:+03}", number / std::pow(10, exponent),
                     std::max(0, decimals + exponent), exponent);
}

std::string format_spread(double mean, std::optional<double> deviation) {
  if (!deviation) return format_with_spread(mean, deviation);
  if (*deviation == 0) return format_with_spread(mean, deviation) + " ± 0";
  const int decimals = decimals_for(*deviation);
  if (decimals <= kMostDecimals && std::max(std::abs(mean), *deviation) < kLarge) {
    return fmt::format("{} ± {}", rounded(mean, decimals), rounded(*deviation, decimals));
  }
  const int exponent = std::max(exponent_of(mean), exponent_of(*deviation));
  const double scale = std::pow(10, exponent);
  const int digits = std::max(0, decimals + exponent);
  return fmt::format("({:.{}f} ± {:.{}f})e{:+03}", mean / scale, digits, *deviation / scale, digits,
                     exponent);
}

}  // namespace plimsoll::statistics
