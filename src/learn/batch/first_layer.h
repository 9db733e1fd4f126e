// The first layer's sums: added up along the last hop of every batch, or once for all nodes, with
// all their neighbours, and kept in a store of their own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/progress.h"
#include "batch/assemble.h"
#include "graph/store.h"
#include "memory/ledger.h"
#include "recipe/recipe.h"

namespace plimsoll::batch {

// How batches are made for a model from features, and from a store's rows.
Assembly assembly_for(recipe::ModelKind kind, recipe::Norm norm);
Assembly assembly_for(const recipe::Recipe& recipe, graph::FirstLayer first_layer);

// How many neighbours are drawn at every hop, the seeds' first: those of the recipe, but nobody
// where their sums are in the store; no hops for mlp.
std::vector<uint32_t> drawn_fanout(const recipe::Recipe& recipe, graph::FirstLayer first_layer);

// Throws Error{usage} where this store's rows are not what the recipe's first layer is given.
void check_first_layer(const graph::Store& store, const recipe::Recipe& recipe);

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
