// What the tests of all kernels share: the kernels there are, rows to feed them, and bits to
// compare.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernel/kernels.h"

namespace plimsoll::kernel {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kUntouched = -12345.0F;

// Those that this program and CPU have.
inline std::vector<const Kernels*> all_kernels() {
  std::vector<const Kernels*> kernels;
  for (const Kernels* each : {plain_kernels(), avx2_kernels(), avx512_kernels()}) {
    if (each != nullptr) kernels.push_back(each);
  }
  return kernels;
}

// By the definition of the format; NaN has no bits of its own here.
inline float half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int mantissa = bits & 0x3ff;
  float magnitude = 0;
  if (exponent == 31) {
    magnitude = mantissa == 0 ? kInfinity : kNan;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

inline bool is_half_nan(uint16_t bits) { return (bits & 0x7fffU) > 0x7c00U; }

// Rows in exactly as many bytes as they need, so that a sanitizer sees whoever reads beyond.
struct OwnedRows {
  std::vector<unsigned char> bytes;
  Rows rows;

  float value(uint64_t row, uint32_t column) const {
    const unsigned char* at = bytes.data() + row * rows.row_bytes;
    if (rows.half) {
      uint16_t half = 0;
      std::memcpy(&half, at + column * sizeof half, sizeof half);
      return half_value(half);
    }
    float single = 0;
    std::memcpy(&single, at + column * sizeof single, sizeof single);
    return single;
  }
};

struct RowShape {
  uint64_t count = 0;
  uint32_t columns = 0;
  bool half = false;
  uint64_t padding_bytes = 0;
};

// Values of many magnitudes, so that another order of additions gives other bits; among them
// subnormals, zeros of both signs and, where asked for, infinity.
inline OwnedRows random_rows(const RowShape& shape, bool with_infinity = false) {
  const uint64_t value_bytes = shape.half ? 2 : 4;
  OwnedRows owned;
  owned.rows = {.row_bytes = shape.columns * value_bytes + shape.padding_bytes,
                .count = shape.count,
                .columns = shape.columns,
                .half = shape.half};
  owned.bytes.assign(shape.count * owned.rows.row_bytes - shape.padding_bytes, 0xff);
  owned.rows.data = owned.bytes.data();
  const RandomStream stream(shape.columns, shape.half ? 1 : 0);
  for (uint64_t i = 0; i < shape.count * shape.columns; ++i) {
    unsigned char* at = owned.bytes.data() + i / shape.columns * owned.rows.row_bytes +
                        i % shape.columns * value_bytes;
    const uint64_t draw = stream.at(i);
    const uint64_t kind = draw >> 32 & 0x3f;
    if (shape.half) {
      auto bits = static_cast<uint16_t>(draw);
      if (kind < 3) bits &= 0x83ffU;                     // a subnormal
      if (kind == 3) bits &= 0x8000U;                    // a zero
      if ((bits & 0x7c00U) == 0x7c00U) bits &= 0xbfffU;  // a number
      if (with_infinity && kind == 4) bits = 0x7c00U;
      std::memcpy(at, &bits, sizeof bits);
    } else {
      const int exponent = static_cast<int>(draw >> 48 & 0x1f) - 16;
      auto value = static_cast<float>(std::ldexp(unit_interval(draw) - 0.5, exponent));
      if (kind < 3) value = std::copysign(1e-40F, value);
      if (kind == 3) value = std::copysign(0.0F, value);
      if (with_infinity && kind == 4) value = kInfinity;
      std::memcpy(at, &value, sizeof value);
    }
  }
  return owned;
}

// Sources of a graph: lists of 0 to 40, some empty, the last one too.
struct Lists {
  std::vector<uint32_t> offsets = {0};
  std::vector<uint32_t> indices;
};

inline Lists random_lists(uint32_t destinations, uint32_t sources) {
  const RandomStream stream(5, destinations);
  uint64_t draw = 0;
  Lists lists;
  for (uint32_t i = 0; i < destinations; ++i) {
    uint64_t length = below(stream.at(draw++), 8);
    if (i == 2) length = 40;
    if (i == 5 || i + 1 == destinations) length = 0;
    for (uint64_t k = 0; k < length; ++k) {
      lists.indices.push_back(static_cast<uint32_t>(below(stream.at(draw++), sources)));
    }
    lists.offsets.push_back(static_cast<uint32_t>(lists.indices.size()));
  }
  return lists;
}

inline std::vector<float> random_scales(uint64_t count, uint64_t seed) {
  std::vector<float> scales(count);
  for (uint64_t i = 0; i < count; ++i) {
    scales[i] = static_cast<float>(unit_interval(RandomStream(6, seed).at(i)) * 4 - 2);
  }
  return scales;
}

// Says where they differ first, and in which bits.
inline void expect_same_bits(const std::vector<float>& actual, const std::vector<float>& expected,
                             const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(actual[i]), std::bit_cast<uint32_t>(expected[i]))
        << what << ", value " << i << ": " << actual[i] << ", expected " << expected[i];
  }
}

// Below, at and above the width of every vector and tile, and those of known data sets.
inline const auto kColumnCounts =
    testing::Values(1, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 128, 129, 172, 256, 300);
inline std::string columns_name(const testing::TestParamInfo<uint32_t>& param) {
  return std::to_string(param.param);
}

}  // namespace plimsoll::kernel
