// A split of the nodes with their labels: a few bytes for each labelled node, never an array as
// long as the graph.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "graph/store.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::batch {

struct Split {
  memory::Buffer<uint32_t> nodes;  // positions, ascending
  memory::Buffer<int32_t> labels;  // of those
};

struct Splits {
  Split train;
  Split valid;
  Split test;
};

// Reads labels.i32 once, keeping those of split nodes. Throws Error{store} where a position or a
// label is impossible and Error{input} where a split node has no label.
Splits load_splits(const graph::Store& store, memory::Ledger& ledger);

}  // namespace plimsoll::batch
