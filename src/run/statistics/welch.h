// Welch's t test: do two samples have the same mean, if their variances may differ?
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace plimsoll::statistics {

struct ConfidenceInterval {
  double low = 0;
  double high = 0;
  double level = 0.95;
};

struct WelchTest {
  double difference = 0;  // mean of a - mean of b
  double t = 0;
  double degrees = 0;
  double p = 1;                 // two-sided
  ConfidenceInterval interval;  // of the difference
};

// Nothing if a sample has fewer than two values, or if neither varies.
std::optional<WelchTest> welch_test(std::span<const double> a, std::span<const double> b);

// The smallest number of values in each of two samples at which a t test at this level finds a true
// difference of means with a probability of 80 %. Nothing if that is more than a million, or if the
// difference or the deviation is 0.
std::optional<size_t> repeats_for(double difference, double deviation, double level = 0.05);

// The probability that this test finds it, with `repeats` values in each sample.
double power_of(double difference, double deviation, size_t repeats, double level = 0.05);

}  // namespace plimsoll::statistics
