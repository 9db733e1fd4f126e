// How the first layer gets its sums over neighbours: computed for every batch along its last hop,
// or read from a store with precomputed sums.
#pragma once

#include <cstdint>
#include <vector>

#include "batch/assemble.h"
#include "graph/store.h"
#include "recipe/recipe.h"

namespace plimsoll::batch {

// The model whose first layer's sums a store holds.
recipe::ModelKind model_of(graph::FirstLayer first_layer);

// How batches are assembled: the first form from plain features, the second from a store's rows,
// which may be precomputed.
Assembly assembly_for(recipe::ModelKind kind, recipe::Norm norm);
Assembly assembly_for(const recipe::Recipe& recipe, graph::FirstLayer first_layer);

// The fan-out to sample, the seeds' hop first: that of the recipe, but 0 for the last hop if the
// store holds its sums; no hops for mlp.
std::vector<uint32_t> drawn_fanout(const recipe::Recipe& recipe, graph::FirstLayer first_layer);

// Throws Error{usage} if the store's rows do not suit the recipe's first layer.
void check_first_layer(const graph::Store& store, const recipe::Recipe& recipe);

}  // namespace plimsoll::batch
