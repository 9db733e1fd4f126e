// The Shapiro-Wilk test: may a sample come from a normal distribution? Royston's approximation of
// 1995 (AS R94), as SciPy and R have it.
#pragma once

#include <optional>
#include <span>

namespace plimsoll::statistics {

struct ShapiroWilkTest {
  double w = 1;
  double p = 1;  // small: the sample is not from a normal distribution
};

// Nothing for fewer than 3 or more than 5000 values, and if they are all equal.
std::optional<ShapiroWilkTest> shapiro_wilk_test(std::span<const double> values);

}  // namespace plimsoll::statistics
