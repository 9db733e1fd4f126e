#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

namespace plimsoll {
namespace {

// A seed names the same graph for ever: these numbers may not change.
TEST(RandomStream, GivesTheSameNumbersInEveryVersion) {
  constexpr RandomStream kZero(0, 0);  // splitmix64's published sequence for seed 0
  static_assert(kZero.at(1) == 0xe220a8397b1dcdafU);
  static_assert(kZero.at(2) == 0x6e789e6aa1b965f4U);
  static_assert(kZero.at(3) == 0x06c45d188009454fU);
  const RandomStream stream(42, 7);
  EXPECT_EQ(stream.at(0), 0x6a69b816cb79017aU);
  EXPECT_EQ(stream.at(1'000'000'007), 0x356a60f8bf1109a2U);
}

TEST(RandomStream, NeverMeetsAnotherSeedOrStream) {
  std::set<uint64_t> numbers;
  size_t drawn = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (uint64_t stream = 0; stream < 10; ++stream) {
      for (uint64_t i = 0; i < 100; ++i, ++drawn) numbers.insert(RandomStream(seed, stream).at(i));
    }
  }
  EXPECT_EQ(numbers.size(), drawn);
}

TEST(Mix64, FlipsHalfOfTheOutputForEveryInputBit) {
  constexpr int kSamples = 2000;
  const RandomStream inputs(5, 6);
  for (int bit = 0; bit < 64; ++bit) {
    std::array<int, 64> flips = {};
    for (int i = 0; i < kSamples; ++i) {
      const uint64_t x = inputs.at(static_cast<uint64_t>(i));
      const uint64_t changed = mix64(x) ^ mix64(x ^ (uint64_t{1} << bit));
      for (int out = 0; out < 64; ++out) flips.at(out) += static_cast<int>((changed >> out) & 1);
    }
    for (const int count : flips) {
      ASSERT_NEAR(count, kSamples / 2, 6 * std::sqrt(kSamples) / 2) << "input bit " << bit;
    }
  }
}

TEST(UnitInterval, StaysBelowOne) {
  EXPECT_EQ(unit_interval(0), 0.0);
  EXPECT_EQ(unit_interval(UINT64_MAX), 1 - 0x1p-53);
  EXPECT_EQ(unit_interval(uint64_t{1} << 63), 0.5);
}

TEST(UnitInterval, HasTheMeanAndVarianceOfTheUniform) {
  constexpr int kDraws = 100'000;
  const RandomStream stream(7, 8);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = unit_interval(stream.at(static_cast<uint64_t>(i)));
    sum += x;
    squares += x * x;
  }
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 0.5, 0.005);
  EXPECT_NEAR(squares / kDraws - mean * mean, 1.0 / 12, 0.002);
}

TEST(Below, ReachesBothEndsAndNoFurther) {
  EXPECT_EQ(below(0, 10), 0U);
  EXPECT_EQ(below(UINT64_MAX, 10), 9U);
  EXPECT_EQ(below(UINT64_MAX, 1), 0U);
  EXPECT_EQ(below(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
}

TEST(Below, FallsEvenlyIntoEveryBucket) {
  constexpr uint64_t kBound = 10;
  constexpr int kDraws = 100'000;
  std::array<int, kBound> buckets = {};
  const RandomStream stream(9, 10);
  for (int i = 0; i < kDraws; ++i) {
    ++buckets.at(below(stream.at(static_cast<uint64_t>(i)), kBound));
  }
  for (const int count : buckets) EXPECT_NEAR(count, kDraws / 10, 500);
}

}  // namespace
}  // namespace plimsoll
