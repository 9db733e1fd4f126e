// The first layer's sums over all neighbours of every node of a store.
//
// Nodes are taken in chunks whose sums and lists fit into memory. For each chunk, the rows of the
// store pass through memory once, in slices. Lists ascend, so each continues in the next slice
// where it ended in the last one: every file is only read in order, and every sum is made in the
// order of its list, whatever the limit is. A list that is too long for memory is spread over
// several chunks.
#pragma once

#include <cstdint>
#include <functional>

#include "batch/batch.h"
#include "graph/store.h"
#include "memory/ledger.h"

namespace plimsoll::batch {

struct NeighborSumsOptions {
  Weighting weighting = Weighting::mean;  // mean or gcn_full
  bool own = false;                       // give the own rows, too
  unsigned threads = 1;
};

// The least memory that it takes.
uint64_t neighbor_sums_bytes(const graph::Meta& meta, unsigned threads);

struct NeighborSumsEvents {
  // The sums of some nodes in order, and their own rows if asked for; called by one thread.
  std::function<void(const Matrix& sums, const Matrix& own)> on_sums;
  // Called by one thread. The shares of all calls together make up 1.
  std::function<void(double share)> on_progress;
};

// Sums the rows of all neighbours, for every node of a store, in the order of the nodes. Takes all
// memory that the ledger has left. Throws Error{store} if a file is damaged, or is
// written to meanwhile.
void sum_neighbors(const graph::Store& store, const NeighborSumsOptions& options,
                   memory::Ledger& ledger, const NeighborSumsEvents& events);

}  // namespace plimsoll::batch
