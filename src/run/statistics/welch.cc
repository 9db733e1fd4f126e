#include "statistics/welch.h"

#include <cmath>

#include "statistics/distribution.h"
#include "statistics/sample.h"

namespace plimsoll::statistics {
namespace {

constexpr double kLevel = 0.95;
constexpr double kWantedPower = 0.8;
constexpr size_t kMostRepeats = 1'000'000;

}  // namespace

std::optional<WelchTest> welch_test(std::span<const double> a, std::span<const double> b) {
  const Moments first = moments_of(a);
  const Moments second = moments_of(b);
  if (!first.deviation || !second.deviation) return std::nullopt;
  const double one = *first.deviation * *first.deviation / static_cast<double>(a.size());
  const double two = *second.deviation * *second.deviation / static_cast<double>(b.size());
  if (one + two == 0) return std::nullopt;
  WelchTest test{.difference = first.mean - second.mean};
  const double error = std::sqrt(one + two);
  test.t = test.difference / error;
  test.degrees = (one + two) * (one + two) /
                 (one * one / static_cast<double>(a.size() - 1) +
                  two * two / static_cast<double>(b.size() - 1));
  test.p = student_two_sided(test.t, test.degrees);
  const double margin = student_quantile((1 + kLevel) / 2, test.degrees) * error;
  test.interval = {
      .low = test.difference - margin, .high = test.difference + margin, .level = kLevel};
  return test;
}

double power_of(double difference, double deviation, size_t repeats, double level) {
  const double degrees = 2 * static_cast<double>(repeats) - 2;
  const double shift =
      std::abs(difference) / deviation * std::sqrt(static_cast<double>(repeats) / 2);
  constexpr double kCertain = 30;  // standard errors
  if (shift > kCertain) return 1;
  const double critical = student_quantile(1 - level / 2, degrees);
  return 1 - noncentral_student_cdf(critical, degrees, shift) +
         noncentral_student_cdf(-critical, degrees, shift);
}

std::optional<size_t> repeats_for(double difference, double deviation, double level) {
  if (difference == 0 || deviation == 0) return std::nullopt;
  size_t low = 1;  // too few
  size_t high = 2;
  while (power_of(difference, deviation, high, level) < kWantedPower) {
    low = high;
    high *= 2;
    if (high > kMostRepeats) return std::nullopt;
  }
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    (power_of(difference, deviation, middle, level) < kWantedPower ? low : high) = middle;
  }
  return high;
}

}  // namespace plimsoll::statistics
