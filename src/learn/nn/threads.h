// The threads that compute on a CPU. Torch and its BLAS get one thread each, because the order of
// their sums depends on their number of threads. Instead, for_blocks() divides work into blocks
// whose size depends only on shapes, so a result has the same bits with any number of threads.
// Everything that nn/ computes on a CPU either runs on one thread or goes through for_blocks().
// This header does not need torch: plans count threads and parts before torch is loaded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

namespace plimsoll::nn {

// Must be called by the thread that will compute: torch's setting is per thread.
void set_computing_threads(unsigned threads);
unsigned computing_threads();

// Calls body(first, last) once for every block of `block` rows, in any order, on the computing
// threads. A body must only write to what belongs to its block. The first exception is rethrown.
void for_blocks(int64_t rows, int64_t block,
                const std::function<void(int64_t first, int64_t last)>& body);

// How much work one thread gets at a time.
inline constexpr int64_t kMultiplicationsABlock = 1024 * 1024;  // the least for a matrix product
inline constexpr int64_t kValuesABlock = 128 * 1024;  // for passes that do little with each value

// How many rows make a block of about `block_work`, in the same unit as `work_a_row`.
int64_t block_rows(int64_t block_work, int64_t work_a_row);

// The gradient of a weight is a sum over all rows of a batch. Threads compute parts of it, which
// are added in order.
inline constexpr int64_t kMostParts = 16;
inline constexpr int64_t kLeastPartRows = 256;
// A larger gradient is divided by its own rows instead, which takes no memory for parts.
inline constexpr int64_t kMostPartValues = 256 * 1024;

constexpr bool has_parts(int64_t values) { return values <= kMostPartValues; }

// Upper bound. The first part is added directly to the gradient and needs no memory.
constexpr int64_t most_parts(int64_t rows, int64_t values) {
  if (!has_parts(values)) return 1;
  return std::clamp((rows + kLeastPartRows - 1) / kLeastPartRows, int64_t{1}, kMostParts);
}

// How many rows each part of a sum over all rows has. Each part needs memory for its own sums, so
// there are at most kMostParts: with many rows the parts are larger than `block`.
int64_t part_rows(int64_t rows, int64_t block);

// Sums over all sources (attention_fused.cc): few chunks, because each has two rows of partial
// sums.
inline constexpr int64_t kAttentionChunks = 128;

}  // namespace plimsoll::nn
