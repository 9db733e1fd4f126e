// How many bytes the parts of a training take: pure arithmetic over sizes, one function for each
// thing that takes a lease.
#pragma once

#include <cstdint>

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

uint64_t parameter_count(const Work& work);

// One batch as the pipeline holds it.
uint64_t slot_bytes(const Work& work, bool reads_disk);
// What a worker has beside: its table of nodes and, where something is read, its buffers.
uint64_t worker_bytes(const Work& work, const Arrangement& arrangement, bool reads_disk);
// Parameters, their gradients and the optimizer's figures, and the copies that checkpoints take.
uint64_t model_bytes(const Work& work);

// What evaluating with all neighbours marks for every node; nothing for the other evaluation.
uint64_t evaluation_bytes(const Work& work);

// PyTorch Geometric for the same work: with the data loaded, and at the peak, while a
// NeighborLoader is made. docs/memory.md has the formula.
uint64_t pyg_loaded_bytes(const StoreShape& store);
uint64_t pyg_bytes(const StoreShape& store);

}  // namespace plimsoll::plan
