// Random numbers as a function of their place: the n-th number of a stream is a hash of (stream,
// n), so any thread can draw any of them and all agree.
#pragma once

#include <cstdint>

namespace plimsoll {

// A bijection of 64-bit words whose output bits all depend on all input bits (splitmix64's
// finaliser).
constexpr uint64_t mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebU;
  x ^= x >> 31;
  return x;
}

// A stream of independent 64-bit words, addressed by index.
class RandomStream {
 public:
  constexpr RandomStream(uint64_t seed, uint64_t stream) : key_(mix64(mix64(seed) + stream)) {}
  constexpr uint64_t at(uint64_t index) const { return mix64(key_ + index * 0x9e3779b97f4a7c15U); }

 private:
  uint64_t key_;
};

// Uniform in [0, 1), from the high 53 bits.
constexpr double unit_interval(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

__extension__ using uint128_t = unsigned __int128;

// Uniform in [0, bound), without division (Lemire's multiply-shift; bias below bound / 2^64).
constexpr uint64_t below(uint64_t bits, uint64_t bound) {
  return static_cast<uint64_t>((static_cast<uint128_t>(bits) * bound) >> 64);
}

}  // namespace plimsoll
