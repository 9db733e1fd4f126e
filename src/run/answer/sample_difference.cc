#include "answer/sample_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace plimsoll::answer {
namespace {

// The least efficiency of Mann and Whitney's test against the t test (Hodges and Lehmann, 1956).
constexpr double kLeastEfficiency = 0.864;

// Why the samples cannot come from normal distributions; empty if nothing speaks against it.
std::string not_normal(std::span<const double> a, std::span<const double> b) {
  std::string text;
  for (const auto& [sample, label] : {std::pair{a, "first"}, std::pair{b, "second"}}) {
    const auto test = statistics::shapiro_wilk_test(sample);
    if (!test || test->p >= kSignificant) continue;
    text += fmt::format("{}Shapiro-Wilk p {:.2g} for the {} sample", text.empty() ? "" : ", ",
                        test->p, label);
  }
  return text;
}

void test_by_ranks(std::span<const double> a, std::span<const double> b, SampleDifference& found) {
  const auto test = statistics::mann_whitney_test(b, a);
  found.test = DifferenceTest::mann_whitney;
  found.difference = test.shift;
  found.interval = test.interval;
  found.p = test.p;
  found.effect = statistics::rank_biserial(test.u, b.size(), a.size());
}

void test_by_means(std::span<const double> a, std::span<const double> b, SampleDifference& found) {
  const auto test = statistics::welch_test(b, a);
  if (!test) {
    found.reason = "neither sample varies";
    return;
  }
  found.test = DifferenceTest::welch;
  found.reason = std::min(a.size(), b.size()) < 3 ? "two values are too few to test for normality"
                                                  : "nothing speaks against normal distributions";
  found.interval = test->interval;
  found.p = test->p;
  found.effect = statistics::hedges_g(b, a);
}

}  // namespace

void plan_repeats(SampleDifference& found, double level) {
  const double deviation = std::hypot(*found.a.deviation, *found.b.deviation) / std::sqrt(2.0);
  found.repeats_needed = statistics::repeats_for(found.looked_for, deviation, level);
  if (found.repeats_needed && found.test == DifferenceTest::mann_whitney) {
    found.repeats_needed = static_cast<size_t>(
        std::ceil(static_cast<double>(*found.repeats_needed) / kLeastEfficiency));
  }
}

SampleDifference difference_of(std::span<const double> a, std::span<const double> b,
                               std::optional<double> looked_for) {
  SampleDifference found{.a = statistics::moments_of(a), .b = statistics::moments_of(b)};
  found.difference = found.b.mean - found.a.mean;
  if (a.size() < 2 || b.size() < 2) {
    found.reason = "it needs at least two repeats of each";
    return found;
  }
  const std::string against = not_normal(a, b);
  if (against.empty()) {
    test_by_means(a, b, found);
  } else {
    test_by_ranks(a, b, found);
    found.reason = against;
  }
  found.looked_for = looked_for.value_or(found.difference);
  found.stated = looked_for.has_value();
  plan_repeats(found, kSignificant);
  return found;
}

}  // namespace plimsoll::answer
