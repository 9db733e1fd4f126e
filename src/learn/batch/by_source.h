// A block's edges sorted by their source, which gradients flow along.
#pragma once

#include <cstdint>
#include <span>

#include "batch/batch.h"

namespace plimsoll::batch {

struct EdgesBySource {
  std::span<uint32_t> source_offsets;  // sources + 2; the last one is for the sorting alone
  std::span<uint32_t> by_source;       // as many as edges
  std::span<uint32_t> source_edges;
};

// Fills `out` from the block's offsets and indices; within a source, edges stay in order.
void sort_by_source(const Block& block, const EdgesBySource& out);

}  // namespace plimsoll::batch
