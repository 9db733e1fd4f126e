#include "base/half.h"

#include <bit>
#include <cstddef>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace plimsoll {
namespace {

#if defined(__x86_64__)
bool cpu_has_f16c() {
  static const bool has = [] {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    constexpr unsigned kF16cBit = 1U << 29;  // clang's __builtin_cpu_supports does not know f16c
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kF16cBit) != 0 &&
           __builtin_cpu_supports("avx") != 0;
  }();
  return has;
}

// Both return how many they converted: a multiple of eight.
__attribute__((target("avx,f16c"))) size_t to_half_f16c(std::span<const float> values,
                                                        uint16_t* halves) {
  size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    const __m128i packed = _mm256_cvtps_ph(_mm256_loadu_ps(&values[i]), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(halves + i), packed);
  }
  return i;
}

__attribute__((target("avx,f16c"))) size_t from_half_f16c(std::span<const uint16_t> halves,
                                                          float* values) {
  size_t i = 0;
  for (; i + 8 <= halves.size(); i += 8) {
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&halves[i]));
    _mm256_storeu_ps(values + i, _mm256_cvtph_ps(packed));
  }
  return i;
}
#else
bool cpu_has_f16c() { return false; }
size_t to_half_f16c(std::span<const float>, uint16_t*) { return 0; }
size_t from_half_f16c(std::span<const uint16_t>, float*) { return 0; }
#endif

}  // namespace

uint16_t to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000U);
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU);
  if (magnitude >= std::bit_cast<uint32_t>(kHalfOverflow)) return sign | 0x7c00U;
  if (magnitude < std::bit_cast<uint32_t>(0x1p-14F)) {
    // Subnormal half: adding 0.5 lines the half's last bit up with the float's, so that the
    // addition itself rounds to nearest even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(shifted) & 0xffffU);
  }
  const uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return sign | static_cast<uint16_t>((rounded - (112U << 23)) >> 13);
}

float from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fU;
  const uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  const uint32_t biased = exponent == 31 ? 255U : exponent + 112U;
  const uint32_t quiet = exponent == 31 && mantissa != 0 ? 0x400000U : 0U;
  return std::bit_cast<float>(sign | (biased << 23) | (mantissa << 13) | quiet);
}

void to_half(std::span<const float> values, std::span<uint16_t> halves) {
  size_t i = cpu_has_f16c() ? to_half_f16c(values, halves.data()) : 0;
  for (; i < values.size(); ++i) halves[i] = to_half(values[i]);
}

void from_half(std::span<const uint16_t> halves, std::span<float> values) {
  size_t i = cpu_has_f16c() ? from_half_f16c(halves, values.data()) : 0;
  for (; i < halves.size(); ++i) values[i] = from_half(halves[i]);
}

}  // namespace plimsoll
