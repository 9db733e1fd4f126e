// How large a difference is, and what several tests at once mean.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace plimsoll::statistics {

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

}  // namespace plimsoll::statistics
