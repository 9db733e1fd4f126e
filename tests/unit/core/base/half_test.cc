#include "base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/random.h"

namespace plimsoll {
namespace {

constexpr uint16_t kInfinity = 0x7c00;
constexpr uint16_t kSign = 0x8000;
constexpr uint16_t kQuiet = 0x0200;
constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();

bool is_nan(uint16_t half) { return (half & 0x7fffU) > kInfinity; }

// By the definition of the format, not by its bits in a float.
double value_of(uint16_t half) {
  const int exponent = (half >> 10) & 0x1f;
  const int mantissa = half & 0x3ff;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & kSign) != 0 ? -magnitude : magnitude;
}

// Every place where rounding could go wrong: all finite halves, the ties between them, the floats
// beside both, and both ends of the range; of either sign.
std::vector<float> telling_floats() {
  std::vector<float> floats;
  const auto add_around = [&](float value) {
    for (const float near :
         {std::nextafter(value, 0.0F), value, std::nextafter(value, kFloatInfinity)}) {
      floats.push_back(near);
      floats.push_back(-near);
    }
  };
  for (uint16_t half = 0; half < kInfinity; ++half) {
    const double value = value_of(half);
    const double next = half + 1 == kInfinity ? 65536.0 : value_of(half + 1);
    add_around(static_cast<float>(value));
    add_around(static_cast<float>((value + next) / 2));
  }
  for (const float value :
       {65519.99F, 65520.0F, 65536.0F, 1e30F, 0x1p-25F, 0x1p-26F, 1e-30F,
        std::numeric_limits<float>::min(), std::numeric_limits<float>::denorm_min()}) {
    add_around(value);
  }
  for (const uint32_t bits : {0x7f800000U, 0x7f800001U, 0x7f802000U, 0x7fc00000U, 0x7fffffffU}) {
    floats.push_back(std::bit_cast<float>(bits));
    floats.push_back(std::bit_cast<float>(bits | 0x80000000U));
  }
  return floats;
}

std::vector<float> random_floats(size_t count) {
  std::vector<float> floats;
  const RandomStream stream(1, 2);
  for (size_t i = 0; i < count; ++i) {
    floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(stream.at(i))));
  }
  return floats;
}

void expect_bulk_equals_scalar(const std::vector<float>& floats) {
  std::vector<uint16_t> halves(floats.size());
  to_half(floats, halves);
  for (size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(halves[i], to_half(floats[i])) << std::hexfloat << floats[i];
  }
}

TEST(Half, GivesEveryFiniteHalfItsValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if ((half & kInfinity) == kInfinity) continue;
    const float value = from_half(half);
    ASSERT_EQ(static_cast<double>(value), value_of(half)) << bits;
    ASSERT_EQ(std::signbit(value), (half & kSign) != 0) << bits;
  }
}

TEST(Half, RoundTripsAll65536AndQuietsNans) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const auto expected = is_nan(half) ? static_cast<uint16_t>(half | kQuiet) : half;
    ASSERT_EQ(to_half(from_half(half)), expected) << bits;
  }
}

TEST(Half, KeepsInfinitiesAndNans) {
  EXPECT_EQ(from_half(kInfinity), kFloatInfinity);
  EXPECT_EQ(from_half(kInfinity | kSign), -kFloatInfinity);
  EXPECT_TRUE(std::isnan(from_half(0x7c01)));
  EXPECT_TRUE(std::isnan(from_half(0xffff)));
  EXPECT_EQ(to_half(kFloatInfinity), kInfinity);
  EXPECT_EQ(to_half(-kFloatInfinity), kInfinity | kSign);
  // Its payload is all in the bits a half has no room for: it must not become an infinity.
  EXPECT_TRUE(is_nan(to_half(std::bit_cast<float>(0x7f800001U))));
}

TEST(Half, RoundsToNearestAndTiesToEven) {
  for (uint16_t half = 0; half + 1 < kInfinity; ++half) {
    const auto next = static_cast<uint16_t>(half + 1);
    const auto middle = static_cast<float>((value_of(half) + value_of(next)) / 2);
    ASSERT_EQ(to_half(std::nextafter(middle, 0.0F)), half) << half;
    ASSERT_EQ(to_half(middle), half % 2 == 0 ? half : next) << half;
    ASSERT_EQ(to_half(std::nextafter(middle, kFloatInfinity)), next) << half;
    ASSERT_EQ(to_half(-middle), (half % 2 == 0 ? half : next) | kSign) << half;
  }
}

TEST(Half, OverflowsAt65520AndNoSooner) {
  EXPECT_EQ(to_half(65519.99F), 0x7bff);
  EXPECT_EQ(to_half(std::nextafter(kHalfOverflow, 0.0F)), 0x7bff);
  EXPECT_EQ(to_half(kHalfOverflow), kInfinity);
  EXPECT_EQ(to_half(-65519.99F), 0x7bff | kSign);
  EXPECT_EQ(to_half(-kHalfOverflow), kInfinity | kSign);
  EXPECT_EQ(to_half(std::numeric_limits<float>::max()), kInfinity);
}

TEST(Half, UnderflowsBelowHalfOfTheSmallestSubnormal) {
  EXPECT_EQ(to_half(0x1p-24F), 1);
  EXPECT_EQ(to_half(std::nextafter(0x1p-25F, 1.0F)), 1);
  EXPECT_EQ(to_half(0x1p-25F), 0);
  EXPECT_EQ(to_half(-0x1p-25F), kSign);
  EXPECT_EQ(to_half(std::numeric_limits<float>::denorm_min()), 0);
}

TEST(HalfInBulk, EqualsScalarWhereRoundingIsHard) { expect_bulk_equals_scalar(telling_floats()); }

TEST(HalfInBulk, EqualsScalarForRandomFloats) { expect_bulk_equals_scalar(random_floats(1000003)); }

TEST(HalfInBulk, EqualsScalarForAllHalves) {
  std::vector<uint16_t> halves(0x10000);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  std::vector<float> floats(halves.size());
  from_half(halves, floats);
  for (size_t i = 0; i < halves.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(floats[i]), std::bit_cast<uint32_t>(from_half(halves[i])))
        << i;
  }
}

// Sizes with and without a rest after the eights, from an address that is no multiple of 32.
TEST(HalfInBulk, WritesAllOfTheOutputAndNothingBeyond) {
  const std::vector<float> floats = random_floats(42);
  constexpr uint16_t kUntouched = 0x1234;
  constexpr float kUntouchedFloat = 0x1.234p5F;
  for (size_t size = 0; size <= 40; ++size) {
    std::vector<uint16_t> halves(size + 2, kUntouched);
    to_half(std::span(floats).subspan(1, size), std::span(halves).subspan(1, size));
    EXPECT_EQ(halves.front(), kUntouched);
    EXPECT_EQ(halves.back(), kUntouched);
    std::vector<float> back(size + 2, kUntouchedFloat);
    from_half(std::span<const uint16_t>(halves).subspan(1, size), std::span(back).subspan(1, size));
    EXPECT_EQ(back.front(), kUntouchedFloat);
    EXPECT_EQ(back.back(), kUntouchedFloat);
    for (size_t i = 1; i <= size; ++i) {
      ASSERT_EQ(halves[i], to_half(floats[i])) << size;
      ASSERT_EQ(std::bit_cast<uint32_t>(back[i]), std::bit_cast<uint32_t>(from_half(halves[i])))
          << size;
    }
  }
}

}  // namespace
}  // namespace plimsoll
