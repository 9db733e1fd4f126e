#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "statistics/hypothesis.h"
#include "statistics/pareto.h"
#include "statistics/sample.h"

namespace plimsoll::statistics {
namespace {

using Values = std::vector<double>;
using Indices = std::vector<size_t>;

TEST(Sample, IsRoundedToTwoDigitsOfItsSpread) {
  EXPECT_EQ(format_spread(0.91324, 0.0041), "0.9132 ± 0.0041");
  EXPECT_EQ(format_spread(0.91324, 0.00996), "0.913 ± 0.010");
  EXPECT_EQ(format_spread(1234.56, 78.9), "1235 ± 79");
  EXPECT_EQ(format_spread(123456, 789), "123460 ± 790");
  EXPECT_EQ(format_spread(3.0012e-5, 1.2e-6), "(3.00 ± 0.12)e-05");
  EXPECT_EQ(format_spread(2.5e9, 3e7), "(2.500 ± 0.030)e+09");
  EXPECT_EQ(format_spread(0.5, 0), "0.5 ± 0");
  EXPECT_EQ(format_spread(-0.02, 0.5), "-0.02 ± 0.50");
}

TEST(Sample, HasFourDigitsIfItsSpreadIsUnknown) {
  EXPECT_EQ(format_spread(0.9132487, std::nullopt), "0.9132");
  EXPECT_EQ(format_spread(3e-5, std::nullopt), "3e-05");
  EXPECT_EQ(format_spread(std::nan(""), std::nullopt), "nan");
}

TEST(Sample, OfOneValueHasNoDeviation) {
  EXPECT_FALSE(moments_of(Values{3}).deviation);
  EXPECT_EQ(moments_of(Values{3}).mean, 3);
  EXPECT_EQ(moments_of({}).count, 0U);
  EXPECT_DOUBLE_EQ(moments_of(Values{1, 3}).deviation.value(), std::sqrt(2));
}

TEST(Welch, NeedsTwoValuesAndSomeSpread) {
  EXPECT_FALSE(welch_test(Values{1}, Values{1, 2}));
  EXPECT_FALSE(welch_test(Values{1, 1}, Values{2, 2}));
  EXPECT_TRUE(welch_test(Values{1, 1}, Values{2, 3}));
}

TEST(Welch, NeedsMoreRepeatsForSmallerDifferences) {
  EXPECT_EQ(repeats_for(100, 1), 2U);
  EXPECT_EQ(repeats_for(0.5, 1), 64U);  // the figure of every textbook
  EXPECT_FALSE(repeats_for(0, 1));
  EXPECT_FALSE(repeats_for(1, 0));
  EXPECT_FALSE(repeats_for(1e-6, 1));
}

TEST(MannWhitney, SaysWhichLevelFewValuesAllow) {
  // 3 and 3 values have 20 orders: the widest interval has a level of 90 %.
  const auto few = mann_whitney_test(Values{1, 2, 3}, Values{4, 6, 8});
  EXPECT_TRUE(few.exact);
  EXPECT_NEAR(few.p, 0.1, 1e-12);
  EXPECT_NEAR(few.interval.level, 0.9, 1e-12);
  EXPECT_EQ(few.interval.low, -7);
  EXPECT_EQ(few.interval.high, -1);
  EXPECT_EQ(few.shift, -4);
  // R: wilcox.test(c(1.1,2.2,3.3,4.4,5.5), c(0.3,2.1,6.4,7.7,8.9), conf.int=TRUE)
  const auto more =
      mann_whitney_test(Values{1.1, 2.2, 3.3, 4.4, 5.5}, Values{.3, 2.1, 6.4, 7.7, 8.9});
  EXPECT_GE(more.interval.level, 0.95);
  EXPECT_LT(more.interval.low, more.shift);
}

TEST(MannWhitney, WithTiesDoesNotClaimMoreThanFewValuesAllow) {
  // The interval of all differences has the level that it has without ties, 90 % of 3 and 3.
  const auto few = mann_whitney_test(Values{1, 1, 2}, Values{4, 6, 6});
  EXPECT_FALSE(few.exact);
  EXPECT_NEAR(few.interval.level, 0.9, 1e-12);
  EXPECT_EQ(few.interval.low, -5);
  EXPECT_EQ(few.interval.high, -2);
  EXPECT_NEAR(mann_whitney_test(Values{1, 1}, Values{1, 2}).interval.level, 2.0 / 3, 1e-12);
  // 5 and 5 values are enough.
  EXPECT_GE(mann_whitney_test(Values{1, 1, 2, 3, 4}, Values{2, 5, 6, 7, 8}).interval.level, 0.95);
}

TEST(MannWhitney, OfOneValueAgainstVeryManySaysWhichLevelTheyAllow) {
  Values many;
  for (int i = 0; i < 200'000; ++i) many.push_back(i);
  EXPECT_LT(mann_whitney_test(Values{3.5}, many).interval.level, 0.95);
}

TEST(MannWhitney, OfEqualValuesFindsNothing) {
  const auto test = mann_whitney_test(Values{1, 1, 1}, Values{1, 1});
  EXPECT_EQ(test.p, 1);
  EXPECT_EQ(test.shift, 0);
}

TEST(MannWhitney, IsExactForAFewAgainstMany) {
  Values many;
  for (int i = 0; i < 3000; ++i) many.push_back(i);
  const auto test = mann_whitney_test(Values{-1, -2, -3, -4, -5, -6, -7, -8}, many);
  EXPECT_TRUE(test.exact);
  EXPECT_EQ(test.u, 0);
  double pairs = 1;  // 2 / C(3008, 8)
  for (int i = 1; i <= 8; ++i) pairs *= (3000.0 + i) / i;
  EXPECT_NEAR(test.p * pairs / 2, 1, 1e-9);
}

TEST(ShapiroWilk, NeedsThreeDifferentValues) {
  EXPECT_FALSE(shapiro_wilk_test(Values{1, 2}));
  EXPECT_FALSE(shapiro_wilk_test(Values{1, 1, 1}));
  EXPECT_FALSE(shapiro_wilk_test(Values(5001, 1)));
  EXPECT_NEAR(shapiro_wilk_test(Values{1, 2, 3})->w, 1, 1e-12);
}

TEST(Holm, NeverFallsAndNeverExceedsOne) {
  const Values adjusted = holm_adjusted(Values{0.01, 0.04, 0.03, 0.9});
  const Values expected = {0.04, 0.09, 0.09, 0.9};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-12);
  EXPECT_EQ(holm_adjusted(Values{0.7, 0.8}), (Values{1, 1}));
  EXPECT_TRUE(holm_adjusted(Values{}).empty());
}

TEST(Pareto, FrontHasWhatNothingBeatsAndItsKnee) {
  const std::vector<Tradeoff> points = {{1, 10}, {2, 3}, {3, 2.5}, {10, 1}, {2, 9}, {10, 10}};
  const ParetoFront front = pareto_front(points);
  EXPECT_EQ(front.members, (Indices{0, 1, 2, 3}));
  EXPECT_EQ(front.knee, 1U);
}

TEST(Pareto, FrontOfTwoOrOfALineHasNoKnee) {
  EXPECT_FALSE(pareto_front(std::vector<Tradeoff>{{1, 2}, {2, 1}}).knee);
  EXPECT_FALSE(pareto_front(std::vector<Tradeoff>{{0, 2}, {1, 1}, {2, 0}}).knee);
  EXPECT_EQ(pareto_front(std::vector<Tradeoff>{{1, 1}, {1, 1}, {2, 1}}).members, (Indices{0, 1}));
  EXPECT_TRUE(pareto_front({}).members.empty());
}

TEST(Importance, FindsTheParameterThatMatters) {
  const Values values = {1, 1.1, 5, 5.2, 1.05, 0.9, 5.1, 4.9};
  const auto matters = variance_share(values, Indices{0, 0, 1, 1, 0, 0, 1, 1});
  const auto not_at_all = variance_share(values, Indices{0, 1, 0, 1, 0, 1, 0, 1});
  EXPECT_GT(matters->omega_squared, 0.95);
  EXPECT_LT(matters->p, 1e-6);
  EXPECT_EQ(not_at_all->omega_squared, 0);
  EXPECT_FALSE(variance_share(values, Indices(8, 0)));
  EXPECT_FALSE(variance_share(Values{1, 2}, Indices{0, 1}));
}

TEST(Importance, GroupsManySettingsAndKeepsEqualOnesTogether) {
  EXPECT_EQ(grouped(Values{0.1, 0.5, 0.1, 0.9}, 4), (Indices{0, 1, 0, 2}));
  const Indices groups = grouped(Values{8, 7, 6, 5, 4, 3, 2, 1}, 4);
  EXPECT_EQ(groups, (Indices{3, 3, 2, 2, 1, 1, 0, 0}));
  const Indices ties = grouped(Values{1, 1, 1, 1, 1, 2, 3, 4, 5}, 3);
  EXPECT_EQ(ties[0], ties[4]);
}

}  // namespace
}  // namespace plimsoll::statistics
