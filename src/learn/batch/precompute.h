// Computes the first layer's sums over all neighbours once for all nodes, and writes them as a new
// store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/progress.h"
#include "graph/store.h"
#include "memory/ledger.h"

namespace plimsoll::batch {

struct PrecomputeOptions {
  graph::FirstLayer model = graph::FirstLayer::sage;
  std::optional<graph::FeatureType> type;  // of the sums; the default is the store's type
  std::filesystem::path out;
  bool replace = false;
  unsigned threads = 1;
};

// Writes a store whose rows are the first layer's sums; all other files are taken over. It takes
// all memory that the ledger has: the more, the fewer passes over the rows. Throws Error{input}
// with the node if a sum does not fit the type; `out` is then not created or changed.
graph::Meta precompute(const graph::Store& store, const PrecomputeOptions& options,
                       memory::Ledger& ledger, Progress& progress);

}  // namespace plimsoll::batch
