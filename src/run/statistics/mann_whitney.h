// The Mann-Whitney U test: is a value of one sample larger than one of the other as often as
// smaller? It needs no normal distribution.
#pragma once

#include <span>

#include "statistics/welch.h"

namespace plimsoll::statistics {

struct MannWhitneyTest {
  double u = 0;  // of the first sample
  double p = 1;  // two-sided
  bool exact = false;
  double shift = 0;             // Hodges and Lehmann: the median of all differences a - b
  ConfidenceInterval interval;  // of the shift; its level is what the number of values allows
};

// Of two samples with at least one value each. p is exact if a sample has at most 8 values and
// there are no ties; otherwise by the normal distribution, corrected for ties and continuity. These
// are the defaults of SciPy. The interval of such a small sample is exact, and with ties
// conservative.
MannWhitneyTest mann_whitney_test(std::span<const double> a, std::span<const double> b);

}  // namespace plimsoll::statistics
