// The threads that compute on a CPU. Torch and the BLAS below it get one thread each, because they
// choose the order of a sum by the number of their threads. Work is cut here instead, into blocks
// whose size depends on the shapes alone, so a result is the same to the bit on any number of
// threads: whatever nn/ computes on a CPU either runs on one thread or goes through for_blocks().
#pragma once

#include <cstdint>
#include <functional>

#include "nn/block_work.h"
#include "nn/product_parts.h"

namespace plimsoll::nn {

// To be called by the thread that will compute: torch keeps its number by thread.
void set_computing_threads(unsigned threads);
unsigned computing_threads();

// Calls body(first, last) once for every block of `block` rows, in any order, on the computing
// threads. A body writes to what belongs to its block and nothing else. The first exception is
// rethrown.
void for_blocks(int64_t rows, int64_t block,
                const std::function<void(int64_t first, int64_t last)>& body);

// Rows of a block of about so much work, whatever that is counted in.
int64_t block_rows(int64_t block_work, int64_t work_a_row);

// A sum over all rows is made of parts, which are added in order. Each keeps sums of its own, so
// there are at most so many: their blocks are larger where there are many rows.
int64_t part_rows(int64_t rows, int64_t block);

}  // namespace plimsoll::nn
