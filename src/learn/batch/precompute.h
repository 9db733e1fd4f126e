// The first layer's sums of all nodes, with all their neighbours, written once to a store of their
// own.
#pragma once

#include <filesystem>
#include <optional>

#include "base/progress.h"
#include "graph/store.h"
#include "memory/ledger.h"

namespace plimsoll::batch {

struct PrecomputeOptions {
  graph::FirstLayer model = graph::FirstLayer::sage;
  std::optional<graph::FeatureType> type;  // of the sums; the store's own where it is not given
  std::filesystem::path out;
  bool replace = false;
  unsigned threads = 1;
};

// Writes the store whose rows are the first layer's sums; everything else is taken over. Rows stay
// in memory as far as the ledger has room, the hottest first. A sum that the type cannot hold is
// Error{input} with the node, and nothing is left under the name of `out`.
graph::Meta precompute(const graph::Store& store, const PrecomputeOptions& options,
                       memory::Ledger& ledger, Progress& progress);

}  // namespace plimsoll::batch
