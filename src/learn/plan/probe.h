// Estimates how large batches are: draw() samples some neighbourhoods from the store, and
// expect_batch() computes from them what a batch of any size will hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/store.h"
#include "memory/ledger.h"
#include "plan/shape.h"
#include "recipe/recipe.h"
#include "sample/batch_size.h"

namespace plimsoll::plan {

// The sampled neighbourhood of some training nodes, made with the sampler that training uses.
// Sampling depends only on the node and the hop, so the neighbourhood of some of the seeds is a
// part of this one.
struct Draws {
  struct Hop {
    uint32_t destinations = 0;  // the first nodes
    std::vector<uint32_t> offsets;
    std::vector<uint32_t>
        indices;  // destination i has the neighbours nodes[indices[offsets[i] ..]]
  };
  // If more than 1: sampled from a smaller graph of the same kind; the real graph is so many times
  // as large. Some of the seeds then represent a whole batch.
  double scale = 1;
  uint64_t seeds = 0;           // 0 if not even one could be sampled
  std::vector<uint32_t> nodes;  // positions in the store; the seeds come first
  // In the whole graph, of the last hop's destinations; 0 for those whose neighbours are not
  // sampled.
  std::vector<uint32_t> degrees;
  std::vector<Hop> hops;  // one per layer, the seeds' first; none for mlp
};

struct DrawBudget {
  uint64_t reads = 0;
  bool in_memory = false;  // load the lists first, so that reads are almost free
  // The nodes to sample for, by position; empty: the training nodes. Must outlive draw().
  std::span<const uint32_t> from = {};
};

// Samples as many seeds, in random order, as about `reads` reads and the ledger allow.
Draws draw(const graph::Store& store, const recipe::Recipe& recipe, const DrawBudget& budget,
           memory::Ledger& ledger);

using sample::BatchSize;
using sample::HopSize;

// The expected content of a batch: how many nodes and edges, and where its nodes are in the
// hot-first order.
struct Probe {
  BatchSize batch;    // the average, for predicting time
  BatchSize largest;  // the largest seen, for predicting memory
  // The largest of an evaluation or prediction, if it is larger than those of training.
  std::optional<BatchSize> evaluated = {};
  // Of an average batch, between mark i and mark i + 1 of the store (plan/shape.h): all nodes, the
  // nodes whose neighbours are sampled, and the reads that sampling takes if no list is resident.
  std::vector<double> visited;
  std::vector<double> expanded;
  std::vector<double> list_reads;
};

// Batches with up to as many seeds as were sampled are taken from the draws. Larger batches are
// extrapolated: sizes grow as they did from half of the seeds to all seeds. Each part of the
// hot-first order grows separately, because a few seeds already meet all hot nodes, while cold
// nodes are nearly always new. A pure function.
Probe expect_batch(const Draws& draws, const StoreShape& store, uint64_t batch_size);

}  // namespace plimsoll::plan
