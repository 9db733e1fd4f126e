// Which parameter explains the spread of a figure: one-way analysis of variance, one parameter at a
// time, with Hays' omega squared as the share of the variance.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll::statistics {

struct VarianceShare {
  double omega_squared = 0;  // corrected for chance, so it may be below 0; then it is 0 here
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
