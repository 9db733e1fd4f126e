#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "statistics/distribution.h"
#include "statistics/hypothesis.h"

namespace plimsoll::statistics {
namespace {

constexpr size_t kFewest = 3;
constexpr size_t kMost = 5000;
constexpr double kNever = 1e-99;  // Royston's p of a W beyond his approximation

// The constant first, unlike polynomial() of distribution.cc.
template <size_t N>
double rising_polynomial(const std::array<double, N>& coefficients, double x) {
  double value = 0;
  for (size_t i = N; i-- > 0;) value = value * x + coefficients[i];
  return value;
}

// The weights of the lower half, all positive; the upper half has the same with the other sign.
std::vector<double> royston_weights(size_t count) {
  const size_t half = count / 2;
  std::vector<double> weights(half);
  if (count == 3) {
    weights[0] = std::numbers::sqrt2 / 2;
    return weights;
  }
  constexpr std::array<double, 6> kFirst = {0, .221157, -.147981, -2.07119, 4.434685, -2.706056};
  constexpr std::array<double, 6> kSecond = {0, .042981, -.293762, -1.752461, 5.682633, -3.582633};
  std::vector<double> expected(half);  // of order statistics, Blom's approximation
  double squares = 0;
  for (size_t i = 0; i < half; ++i) {
    expected[i] =
        normal_quantile((static_cast<double>(i) + 0.625) / (static_cast<double>(count) + 0.25));
    squares += 2 * expected[i] * expected[i];
  }
  const double length = std::sqrt(squares);
  const double root = 1 / std::sqrt(static_cast<double>(count));
  weights[0] = rising_polynomial(kFirst, root) - expected[0] / length;
  double left = squares - 2 * expected[0] * expected[0];
  double room = 1 - 2 * weights[0] * weights[0];
  size_t next = 1;
  if (count > 5) {
    weights[1] = rising_polynomial(kSecond, root) - expected[1] / length;
    left -= 2 * expected[1] * expected[1];
    room -= 2 * weights[1] * weights[1];
    next = 2;
  }
  const double scale = std::sqrt(left / room);
  for (size_t i = next; i < half; ++i) weights[i] = -expected[i] / scale;
  return weights;
}

double royston_p(double w, double one_minus_w, size_t count) {
  const auto n = static_cast<double>(count);
  if (count == 3) {
    const double p = 6 / std::numbers::pi * (std::asin(std::sqrt(w)) - std::asin(std::sqrt(0.75)));
    return std::clamp(p, 0.0, 1.0);
  }
  constexpr std::array<double, 4> kC3 = {.544, -.39978, .025054, -6.714e-4};
  constexpr std::array<double, 4> kC4 = {1.3822, -.77857, .062767, -.0020322};
  constexpr std::array<double, 4> kC5 = {-1.5861, -.31082, -.083751, .0038915};
  constexpr std::array<double, 3> kC6 = {-.4803, -.082676, .0030302};
  double y = std::log(one_minus_w);
  if (count > 11) {
    const double x = std::log(n);
    return normal_survival((y - rising_polynomial(kC5, x)) / std::exp(rising_polynomial(kC6, x)));
  }
  const double gamma = -2.273 + .459 * n;
  if (y >= gamma) return kNever;
  y = -std::log(gamma - y);
  return normal_survival((y - rising_polynomial(kC3, n)) / std::exp(rising_polynomial(kC4, n)));
}

}  // namespace

std::optional<ShapiroWilkTest> shapiro_wilk_test(std::span<const double> values) {
  const size_t count = values.size();
  if (count < kFewest || count > kMost) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() == sorted.back()) return std::nullopt;
  const double mean =
      std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(count);
  const std::vector<double> weights = royston_weights(count);
  double slope = 0;
  double weight_squares = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    slope += weights[i] * (sorted[count - 1 - i] - sorted[i]);
    weight_squares += 2 * weights[i] * weights[i];
  }
  double squares = 0;
  for (const double value : sorted) squares += (value - mean) * (value - mean);
  // 1 - W as a product: no digits are lost if W is near 1.
  const double whole = std::sqrt(weight_squares * squares);
  const double rest = (whole - slope) * (whole + slope) / (weight_squares * squares);
  const double one_minus_w = std::max(rest, 1e-19);
  return ShapiroWilkTest{.w = 1 - one_minus_w, .p = royston_p(1 - one_minus_w, one_minus_w, count)};
}

}  // namespace plimsoll::statistics
