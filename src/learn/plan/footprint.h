// Bytes that a run needs beside its lines: those of batches, of the model, and of an evaluation.
#pragma once

#include <cstdint>

#include "nn/footprint.h"
#include "plan/arrangement.h"
#include "plan/probe.h"
#include "plan/shape.h"
#include "recipe/recipe.h"

namespace plimsoll::plan {

// How many bytes a training takes, by the parts that a plan shows. What each thing takes is said
// beside its allocation (bytes_needed of the sampler, the assembler, the readers, nn/footprint.h,
// ...); here it is only asked and added up.

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

// What evaluating with all neighbours (--eval full) takes while it runs, beside the lines and the
// model: batches of whole lists, and the values of one layer for the next. A plan makes room for
// the least of it only, since lines go down for more and rows go to a file; but a run with room to
// spare will use that.

// Nothing for the other evaluation.
uint64_t full_evaluation_bytes(const Work& work, const Arrangement& arrangement);
// What it cannot do without: one node at a time, and all rows in a file. First of that what making
// and computing such a batch takes.
uint64_t least_full_batch_bytes(const Work& work, const Arrangement& arrangement, bool reads_disk);
uint64_t least_full_evaluation_bytes(const Work& work, const Arrangement& arrangement,
                                     bool reads_disk);

}  // namespace plimsoll::plan
