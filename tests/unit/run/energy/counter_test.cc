#include "energy/counter.h"

#include <gtest/gtest.h>

namespace plimsoll::energy {
namespace {

TEST(RisingCounter, GoesOverTheEndOfItsRange) {
  RisingCounter counter(1, 10'000);
  EXPECT_EQ(counter.add(0, 9'900).joules, 0);
  EXPECT_EQ(counter.add(1, 100).joules, 200);
  EXPECT_EQ(counter.add(2, 400).joules, 500);
  EXPECT_EQ(counter.add(2, 400).segment, 0U);
}

TEST(RisingCounter, DoesNotGuessHowOftenItWrappedInALongGap) {
  RisingCounter counter(1, 10'000);
  counter.add(0, 100);
  EXPECT_EQ(counter.add(4.9, 200).segment, 0U);
  EXPECT_EQ(counter.add(4.9 + 5.1, 300).segment, 1U);  // 2 kW would have gone all the way round
}

TEST(RisingCounter, TakesAnImpossiblePowerForAReset) {
  RisingCounter counter(1, 1'000'000);
  counter.add(0, 500'000);
  EXPECT_EQ(counter.add(1, 10).segment, 1U);
}

TEST(RisingCounter, TakesAFallForAResetWhereNothingWraps) {
  RisingCounter counter(0.001, 0);
  counter.add(0, 5'000'000);
  EXPECT_DOUBLE_EQ(counter.add(1, 5'100'000).joules, 100);
  EXPECT_EQ(counter.add(2, 50'000).segment, 1U);
  EXPECT_DOUBLE_EQ(counter.add(3, 150'000).joules, 200);
}

TEST(CounterSum, CountsAcrossReadingsThatAreMissing) {
  CounterSum sum;
  sum.add(0, {.joules = 10, .segment = 0});
  sum.add(60, {.joules = 310, .segment = 0});
  EXPECT_EQ(sum.joules(), 300);
  EXPECT_EQ(sum.covered_seconds(), 60);
}

TEST(CounterSum, LeavesOutWhatABreakHides) {
  CounterSum sum;
  sum.add(0, {.joules = 0, .segment = 0});
  sum.add(1, {.joules = 100, .segment = 0});
  sum.add(2, {.joules = 100, .segment = 1});
  EXPECT_TRUE(sum.just_broke());
  EXPECT_EQ(sum.broke_seconds(), 1);
  sum.add(3, {.joules = 180, .segment = 1});
  EXPECT_FALSE(sum.just_broke());
  EXPECT_EQ(sum.joules(), 180);
  EXPECT_EQ(sum.covered_seconds(), 2);
  EXPECT_EQ(sum.breaks(), 1U);
}

}  // namespace
}  // namespace plimsoll::energy
