#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "plan/measuring.h"

namespace plimsoll::plan {
namespace {

// Work that takes a time of its own on a clock of its own.
class Rate : public testing::Test {
 protected:
  double measure(const RateOptions& options, double seconds_a_unit) {
    return measure_rate(
        options,
        [&](uint64_t count) {
          rounds_.push_back(count);
          now_ += static_cast<double>(count) * seconds_a_unit;
        },
        [&] { return now_; });
  }

  double now_ = 1000;
  std::vector<uint64_t> rounds_;
};

TEST_F(Rate, OfFastAndSlowWorkIsFoundInTheSameTime) {
  for (const double seconds_a_unit : {1e-7, 1e-4, 1e-2}) {
    const double start = now_;
    EXPECT_NEAR(measure({.seconds = 0.4}, seconds_a_unit) * seconds_a_unit, 1, 1e-6);
    EXPECT_GE(now_ - start, 0.4);
    EXPECT_LT(now_ - start, 0.6);
  }
}

TEST_F(Rate, OfVerySlowWorkTakesTwoUnits) {
  EXPECT_NEAR(measure({.seconds = 0.4}, 5), 0.2, 1e-9);
  EXPECT_EQ(rounds_.size(), 2U);  // the first warms up
}

TEST_F(Rate, KeepsToTheLargestRound) {
  measure({.seconds = 0.4, .first = 16, .most = 100}, 1e-5);
  EXPECT_EQ(rounds_.front(), 16U);
  EXPECT_EQ(std::ranges::max(rounds_), 100U);
  rounds_.clear();
  measure({.seconds = 0.4, .first = 16, .most = 4}, 1e-3);
  EXPECT_EQ(std::ranges::max(rounds_), 4U);
}

TEST_F(Rate, IsNotMovedByOneSlowRound) {
  const double rate = measure_rate(
      {.seconds = 1},
      [&](uint64_t count) {
        rounds_.push_back(count);
        now_ += 0.001 * static_cast<double>(count) + (rounds_.size() == 12 ? 0.3 : 0);
      },
      [&] { return now_; });
  EXPECT_NEAR(rate, 1000, 1e-6);
}

TEST_F(Rate, IsNotMovedByAStallAtTheStart) {
  for (const size_t stalled : {1U, 2U, 3U}) {
    rounds_.clear();
    const double rate = measure_rate(
        {.seconds = 0.4},
        [&](uint64_t count) {
          rounds_.push_back(count);
          now_ += 1e-5 * static_cast<double>(count) + (rounds_.size() == stalled ? 0.7 : 0);
        },
        [&] { return now_; });
    EXPECT_NEAR(rate, 1e5, 1) << stalled;
  }
}

TEST_F(Rate, CountsTheWaitsOfADiskThatIsHeldBack) {
  // It may read 1000 units in each tenth of a second, and reads them in a hundredth.
  uint64_t left = 1000;
  const double rate = measure_rate(
      {.seconds = 0.4, .first = 16, .most = 64},
      [&](uint64_t count) {
        for (uint64_t i = 0; i < count; ++i) {
          if (left == 0) {
            now_ = (std::floor(now_ * 10 + 1e-6) + 1) / 10;
            left = 1000;
          }
          --left;
          now_ += 1e-5;
        }
      },
      [&] { return now_; });
  EXPECT_NEAR(rate, 10'000, 2'500);
}

TEST_F(Rate, OfWorkThatTakesNoTimeIsFinite) {
  int calls = 0;
  const double rate = measure_rate(
      {.seconds = 0.1}, [](uint64_t) {}, [&] { return ++calls < 1000 ? 0.0 : 1.0; });
  EXPECT_GT(rate, 0);
}

}  // namespace
}  // namespace plimsoll::plan
