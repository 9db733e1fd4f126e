// IEEE 754 half precision, rounded to nearest even. The bulk conversions use the CPU's own
// instruction where it has one; both ways give the same bits.
#pragma once

#include <cstdint>
#include <span>

namespace plimsoll {

// The largest magnitude that still rounds to a finite half (65504) is just below this.
constexpr float kHalfOverflow = 65520.0F;

uint16_t to_half(float value);
float from_half(uint16_t bits);

// Sizes must match.
void to_half(std::span<const float> values, std::span<uint16_t> halves);
void from_half(std::span<const uint16_t> halves, std::span<float> values);

}  // namespace plimsoll
