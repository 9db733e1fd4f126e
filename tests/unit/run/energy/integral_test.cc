#include <gtest/gtest.h>

#include <cmath>

#include "energy/series.h"

namespace plimsoll::energy {
namespace {

TEST(Integral, WeighsASampleByItsTime) {
  Integral integral(1);
  for (const double at : {0.0, 0.1, 0.9, 1.0, 1.7}) integral.add(at, 100);
  EXPECT_DOUBLE_EQ(integral.area(), 170);
  EXPECT_DOUBLE_EQ(integral.covered_seconds(), 1.7);
}

TEST(Integral, FollowsARamp) {
  Integral integral(1);
  for (const double at : {0.0, 0.3, 0.4, 1.0}) integral.add(at, 50 + 100 * at);
  EXPECT_DOUBLE_EQ(integral.area(), 100);
  EXPECT_DOUBLE_EQ(integral.mean().value_or(0), 100);
  EXPECT_DOUBLE_EQ(integral.smallest().value_or(0), 50);
  EXPECT_DOUBLE_EQ(integral.largest().value_or(0), 150);
}

TEST(Integral, KnowsNothingOfALongGap) {
  Integral integral(1);
  for (const double at : {0.0, 1.0, 5.0, 6.0}) integral.add(at, 10);
  EXPECT_DOUBLE_EQ(integral.area(), 20);
  EXPECT_DOUBLE_EQ(integral.covered_seconds(), 2);
  EXPECT_DOUBLE_EQ(integral.mean().value_or(0), 10);
}

TEST(Integral, HasNoMeanOfNothing) {
  Integral integral(1);
  EXPECT_FALSE(integral.mean());
  EXPECT_FALSE(integral.largest());
  integral.add(3, 7);
  EXPECT_EQ(integral.mean(), 7);
  EXPECT_EQ(integral.covered_seconds(), 0);
}

}  // namespace
}  // namespace plimsoll::energy
