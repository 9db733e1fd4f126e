// How many bytes a training takes, by the parts that a plan shows. What each thing takes is said
// beside its allocation (bytes_needed of the sampler, the assembler, the readers, nn/footprint.h,
// ...); here it is only asked and added up.
#pragma once

#include <cstdint>

#include "nn/footprint.h"
#include "plan/arrangement.h"
#include "plan/probe.h"
#include "plan/shape.h"
#include "recipe/recipe.h"

namespace plimsoll::plan {

// What is trained on what; all three must outlive it.
struct Work {
  const StoreShape& store;
  const recipe::Recipe& recipe;
  const Probe& probe;
};

nn::Dimensions dimensions(const Work& work);

// One batch as the pipeline holds it.
uint64_t slot_bytes(const Work& work, bool reads_disk);
// What a worker has beside: its table of nodes and, where something is read, its buffers.
uint64_t worker_bytes(const Work& work, const Arrangement& arrangement, bool reads_disk);
// What one batch takes of tensors while it is computed, forward and backward.
uint64_t activation_bytes(const Work& work);
// Parameters, their gradients and the optimizer's figures.
uint64_t model_bytes(const Work& work);

// What evaluating with all neighbours marks for every node; nothing for the other evaluation.
uint64_t node_sets_bytes(const Work& work);
bool evaluates_in_full(const Work& work);

// PyTorch Geometric for the same work: with the data loaded, and at the peak, while a
// NeighborLoader is made. docs/memory.md has the formula.
uint64_t pyg_loaded_bytes(const StoreShape& store);
uint64_t pyg_bytes(const StoreShape& store);

}  // namespace plimsoll::plan
