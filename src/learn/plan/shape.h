// What a plan must know about a store: a few kilobytes, read in milliseconds for a store of any
// size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/store.h"
#include "memory/ledger.h"

namespace plimsoll::plan {

// A position in the hot-first order of nodes, and the number of edges in all lists before it.
struct Mark {
  uint64_t node = 0;
  uint64_t edges = 0;
};

struct StoreShape {
  uint64_t nodes = 0;
  uint64_t edges = 0;
  uint64_t row_bytes = 0;
  uint64_t columns = 0;
  uint64_t classes = 0;
  uint64_t train_nodes = 0;
  uint64_t evaluated_nodes = 0;                             // valid and test together
  uint64_t asked_nodes = 0;                                 // of a prediction
  graph::FirstLayer first_layer = graph::FirstLayer::none;  // what a row holds
  std::vector<Mark> marks;  // from node 0 to the end; closer together among hot nodes

  uint64_t offsets_bytes() const { return (nodes + 1) * sizeof(uint64_t); }
  uint64_t neighbors_bytes() const { return edges * sizeof(uint32_t); }
  uint64_t features_bytes() const { return nodes * row_bytes; }
  // The nodes of the longest pass: training, evaluating or predicting.
  uint64_t largest_pass() const { return std::max({train_nodes, evaluated_nodes, asked_nodes}); }
  uint64_t split_nodes() const { return train_nodes + evaluated_nodes; }
};

StoreShape read_shape(const graph::Store& store, memory::Ledger& ledger);

}  // namespace plimsoll::plan
