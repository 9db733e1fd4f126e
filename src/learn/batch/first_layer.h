// How the first layer gets its sums: added up along the last hop of every batch, or from a store of
// precomputed ones.
#pragma once

#include <cstdint>
#include <vector>

#include "batch/assemble.h"
#include "graph/store.h"
#include "recipe/recipe.h"

namespace plimsoll::batch {

// The model whose sums a store holds.
recipe::ModelKind model_of(graph::FirstLayer first_layer);

// How batches are made for a model from features, and from a store's rows.
Assembly assembly_for(recipe::ModelKind kind, recipe::Norm norm);
Assembly assembly_for(const recipe::Recipe& recipe, graph::FirstLayer first_layer);

// How many neighbours are drawn at every hop, the seeds' first: those of the recipe, but nobody
// where their sums are in the store; no hops for mlp.
std::vector<uint32_t> drawn_fanout(const recipe::Recipe& recipe, graph::FirstLayer first_layer);

// Throws Error{usage} where this store's rows are not what the recipe's first layer is given.
void check_first_layer(const graph::Store& store, const recipe::Recipe& recipe);

}  // namespace plimsoll::batch
