// Is the difference of two samples real? They are compared by the test that the data allow. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "statistics/hypothesis.h"
#include "statistics/sample.h"

namespace plimsoll::answer {

constexpr double kSignificant = 0.05;

enum class DifferenceTest { welch, mann_whitney };

// The difference of two samples, b - a: how much more the second one has.
struct SampleDifference {
  statistics::Moments a;
  statistics::Moments b;
  double difference = 0;  // of the means, or the shift of Hodges and Lehmann
  std::optional<statistics::ConfidenceInterval> interval;
  std::optional<DifferenceTest> test;
  std::string reason;  // why this test, or why none
  std::optional<double> p;
  std::optional<double> adjusted_p;  // by Holm, over all tests of the answer
  std::optional<double> effect;      // Hedges' g with welch, the rank-biserial r with mann_whitney
  double looked_for = 0;             // the difference that the next figure is about
  bool stated = false;               // by the user; otherwise it is the difference found
  // How many repeats each sample needs in all to show `looked_for` in 80 % of cases. compare()
  // divides the level of 5 % by the number of tests.
  std::optional<size_t> repeats_needed;

  bool has_both() const { return a.count > 0 && b.count > 0; }
};

// Shapiro and Wilk's test decides between Welch's t and Mann and Whitney's U. `looked_for`: a
// difference that the user wants to see; otherwise the one between the samples.
SampleDifference difference_of(std::span<const double> a, std::span<const double> b,
                               std::optional<double> looked_for);

// Sets `repeats_needed` for tests at this level.
void plan_repeats(SampleDifference& found, double level);

}  // namespace plimsoll::answer
