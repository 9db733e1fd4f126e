#include "batch/seeds.h"

#include <bit>

#include "base/random.h"

namespace plimsoll::batch {
namespace {

constexpr int kRounds = 10;  // fewer show in lists of a dozen nodes

}  // namespace

Shuffle::Shuffle(uint64_t count, uint64_t key)
    : count_(count),
      key_(mix64(key)),
      half_bits_((static_cast<int>(std::bit_width(count | 3)) + 1) / 2) {}

uint64_t Shuffle::permute(uint64_t x) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = x >> half_bits_;
  uint64_t right = x & mask;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t next = left ^ (mix64(key_ + right * kRounds + round) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

uint64_t Shuffle::at(uint64_t i) const {
  uint64_t x = permute(i);
  while (x >= count_) x = permute(x);
  return x;
}

}  // namespace plimsoll::batch
