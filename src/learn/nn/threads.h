// The threads that compute on a CPU. Torch and its BLAS get one thread each, because the order of
// their sums depends on their number of threads. Instead, for_blocks() divides work into blocks
// whose size depends only on shapes, so a result has the same bits with any number of threads.
// Everything that nn/ computes on a CPU either runs on one thread or goes through for_blocks().
#pragma once

#include <cstdint>
#include <functional>

#include "nn/block_work.h"
#include "nn/product_parts.h"

namespace plimsoll::nn {

// Must be called by the thread that will compute: torch's setting is per thread.
void set_computing_threads(unsigned threads);
unsigned computing_threads();

// Calls body(first, last) once for every block of `block` rows, in any order, on the computing
// threads. A body must only write to what belongs to its block. The first exception is rethrown.
void for_blocks(int64_t rows, int64_t block,
                const std::function<void(int64_t first, int64_t last)>& body);

// How many rows make a block of about `block_work`, in the same unit as `work_a_row`.
int64_t block_rows(int64_t block_work, int64_t work_a_row);

// How many rows each part of a sum over all rows has. The parts are added in order. Each needs
// memory for its own sums, so there are at most kMostParts: with many rows the parts are larger
// than `block`.
int64_t part_rows(int64_t rows, int64_t block);

}  // namespace plimsoll::nn
