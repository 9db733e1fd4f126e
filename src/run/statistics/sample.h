// Figures of one sample: a list of finite numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace plimsoll::statistics {

// With an empty list the mean is 0; the deviation of fewer than two values is unknown.
struct Moments {
  size_t count = 0;
  double mean = 0;
  std::optional<double> deviation;  // the standard deviation, by n - 1
};
Moments moments_of(std::span<const double> values);

double median_of(std::vector<double> values);  // of at least one value

// The rank of each value, from 1; equal values share the mean of their ranks. `tie_term` is the sum
// of t^3 - t over all groups of t equal values: 0 without ties.
struct Ranks {
  std::vector<double> rank;
  double tie_term = 0;
};
Ranks ranks_of(std::span<const double> values);

// A number to two digits of its spread, as "0.9132 ± 0.0041"; without a spread to four digits. A
// very large or small one is "(3.00 ± 0.12)e-05".
std::string format_spread(double mean, std::optional<double> deviation);
// A number with as many decimals as the spread allows; for intervals beside it.
std::string format_with_spread(double number, std::optional<double> deviation);

}  // namespace plimsoll::statistics
