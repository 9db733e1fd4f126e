// How the gradient of a weight, a sum over all rows of a batch, is divided into parts that threads
// compute and that are added in order. The parts depend only on shapes, so the result has the same
// bits with any number of threads. Does not need torch: plans count the parts.
#pragma once

#include <algorithm>
#include <cstdint>

namespace plimsoll::nn {

constexpr int64_t kMostParts = 16;
constexpr int64_t kLeastPartRows = 256;
// A larger gradient is divided by its own rows instead, which takes no memory for parts.
constexpr int64_t kMostPartValues = 256 * 1024;

constexpr bool has_parts(int64_t values) { return values <= kMostPartValues; }

// Upper bound. The first part is added directly to the gradient and needs no memory.
constexpr int64_t most_parts(int64_t rows, int64_t values) {
  if (!has_parts(values)) return 1;
  return std::clamp((rows + kLeastPartRows - 1) / kLeastPartRows, int64_t{1}, kMostParts);
}

// Sums over all sources in attention.cc: few chunks, because each has two rows of partial sums.
constexpr int64_t kAttentionChunks = 128;

}  // namespace plimsoll::nn
