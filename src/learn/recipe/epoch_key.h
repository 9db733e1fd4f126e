// The random keys of a training: one for each purpose and epoch, all from the recipe's seed.
// Whoever makes batches with the same seed and epoch makes the same batches.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace plimsoll::recipe {

enum class Purpose : uint64_t { shuffle = 1, draws = 2, dropout = 3, parameters = 4 };

constexpr uint64_t epoch_key(uint64_t seed, Purpose purpose, uint64_t epoch) {
  return RandomStream(seed, static_cast<uint64_t>(purpose)).at(epoch);
}

}  // namespace plimsoll::recipe
