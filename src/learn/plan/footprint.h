// The memory that a run needs in addition to its lines: for batches, the model and evaluations. The
// sizes themselves are defined next to the allocations (bytes_needed of the sampler, the assembler,
// the readers; nn/footprint.h); here they are only added up.
#pragma once

#include <cstdint>

#include "nn/footprint.h"
#include "plan/arrangement.h"
#include "plan/probe.h"
#include "recipe/recipe.h"

namespace plimsoll::plan {

// What is trained, and on which data. All three must outlive it.
struct Work {
  const StoreShape& store;
  const recipe::Recipe& recipe;
  const Probe& probe;
};

nn::Dimensions dimensions(const Work& work);

// One batch in the pipeline.
uint64_t slot_bytes(const Work& work, bool reads_disk);
// A worker without its batches: its table of nodes and, if it reads from disk, its buffers.
uint64_t worker_bytes(const Work& work, const Arrangement& arrangement, bool reads_disk);
// The windows of an arrangement, and what makes them.
uint64_t windows_bytes(const Work& work, const Arrangement& arrangement);
// The peak of tensors while one batch is computed, forward and backward.
uint64_t activation_bytes(const Work& work);
// Parameters, gradients and the optimizer's state.
uint64_t model_bytes(const Work& work);
uint64_t parameter_bytes(const Work& work);  // the parameters alone

// The node sets of an evaluation with all neighbours (batch/layerwise.h); 0 for a sampled one.
uint64_t node_sets_bytes(const Work& work);
bool evaluates_in_full(const Work& work);

// The memory of PyTorch Geometric for the same work: with the data loaded, and at the peak, while a
// NeighborLoader is constructed. docs/reference/memory.md has the formula.
uint64_t pyg_loaded_bytes(const StoreShape& store);
uint64_t pyg_bytes(const StoreShape& store);

// What an evaluation with all neighbours (--eval full) takes in addition to the lines and the
// model: batches of whole lists, and the output of one layer for the next. 0 for a sampled
// evaluation. A plan reserves only the least of it, because lines can go down for more and rows can
// go to a file; but a run with enough memory uses all of it.
uint64_t full_evaluation_bytes(const Work& work, const Arrangement& arrangement);
// The least that a full evaluation needs: it computes one node at a time and keeps all rows in a
// file. The first function counts only making and computing such a batch of one node.
uint64_t least_full_batch_bytes(const Work& work, const Arrangement& arrangement, bool reads_disk);
uint64_t least_full_evaluation_bytes(const Work& work, const Arrangement& arrangement,
                                     bool reads_disk);

}  // namespace plimsoll::plan
