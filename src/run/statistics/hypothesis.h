// Tests of hypotheses about samples, each with a p, and how large a difference is. Where a test has
// several variants, these are the defaults of SciPy.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll::statistics {

struct ConfidenceInterval {
  double low = 0;
  double high = 0;
  double level = 0.95;
};

// Welch's t test: do two samples have the same mean, if their variances may differ?
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

// The Mann-Whitney U test: is a value of one sample larger than one of the other as often as
// smaller? It needs no normal distribution.
struct MannWhitneyTest {
  double u = 0;  // of the first sample
  double p = 1;  // two-sided
  bool exact = false;
  double shift = 0;             // Hodges and Lehmann: the median of all differences a - b
  ConfidenceInterval interval;  // of the shift; its level is what the number of values allows
};

// Both samples need at least one value. p is exact if a sample has at most 8 values and
// there are no ties; otherwise by the normal distribution, corrected for ties and continuity. The
// interval of such a small sample is exact, and with ties conservative.
MannWhitneyTest mann_whitney_test(std::span<const double> a, std::span<const double> b);

// The Shapiro-Wilk test: may a sample come from a normal distribution? Royston's approximation of
// 1995 (AS R94), as SciPy and R have it.
struct ShapiroWilkTest {
  double w = 1;
  double p = 1;  // small: the sample is not from a normal distribution
};

// Nothing for fewer than 3 or more than 5000 values, and if they are all equal.
std::optional<ShapiroWilkTest> shapiro_wilk_test(std::span<const double> values);

// Hedges' g: the difference of means in pooled standard deviations, corrected for small samples.
// Nothing if neither sample varies or one has fewer than two values.
std::optional<double> hedges_g(std::span<const double> a, std::span<const double> b);

// The rank-biserial correlation: the share of pairs in which the value of `a` is the larger one,
// minus the share in which it is the smaller one. `u` is Mann and Whitney's of the first sample.
double rank_biserial(double u, size_t a, size_t b);

// The pooled standard deviation of two samples; 0 if neither varies.
double pooled_deviation(std::span<const double> a, std::span<const double> b);

// Holm's step-down correction of the p of several tests, in the same order.
std::vector<double> holm_adjusted(std::span<const double> p);

// One-way analysis of variance: which share of the variance do the groups of a parameter explain?
struct VarianceShare {
  double omega_squared = 0;  // Hays' omega squared, corrected for chance; 0 if that is negative
  double f = 0;
  double p = 1;
  size_t groups = 0;
};

// `group` is the group of each value, from 0. Nothing if there are fewer than two groups, if every
// value is alone in its group, or if the values do not vary.
std::optional<VarianceShare> variance_share(std::span<const double> values,
                                            std::span<const size_t> group);

// Groups the settings of a parameter: by distinct setting if there are at most `most` of them,
// otherwise into `most` groups of neighbouring settings with about equally many values each. Equal
// settings are always in one group.
std::vector<size_t> grouped(std::span<const double> settings, size_t most);

}  // namespace plimsoll::statistics
