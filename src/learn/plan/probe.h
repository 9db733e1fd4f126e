// What a plan must know about a store before it is loaded: its shape, the neighbourhoods of some
// training nodes, and the size of batches, which expect_batch() computes from these for any number
// of seeds. read_shape() and draw() read the store (draw.cc); the rest is pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/store.h"
#include "memory/ledger.h"
#include "recipe/recipe.h"
#include "sample/sampler.h"

namespace plimsoll::plan {

// A position in the hot-first order of nodes, and the number of edges in all lists before it.
struct Mark {
  uint64_t node = 0;
  uint64_t edges = 0;
};

struct StoreShape {
  uint64_t nodes = 0;
  uint64_t edges = 0;
  uint64_t row_bytes = 0;
  uint64_t columns = 0;
  uint64_t classes = 0;
  uint64_t train_nodes = 0;
  uint64_t evaluated_nodes = 0;                             // valid and test together
  uint64_t asked_nodes = 0;                                 // of a prediction
  graph::FirstLayer first_layer = graph::FirstLayer::none;  // what a row holds
  std::vector<Mark> marks;  // from node 0 to the end; closer together among hot nodes

  uint64_t offsets_bytes() const { return (nodes + 1) * sizeof(uint64_t); }
  uint64_t neighbors_bytes() const { return edges * sizeof(uint32_t); }
  uint64_t features_bytes() const { return nodes * row_bytes; }
  // The nodes of the longest pass: training, evaluating or predicting.
  uint64_t largest_pass() const { return std::max({train_nodes, evaluated_nodes, asked_nodes}); }
  uint64_t split_nodes() const { return train_nodes + evaluated_nodes; }
};

// Takes milliseconds for a store of any size, and a few kilobytes.
StoreShape read_shape(const graph::Store& store, memory::Ledger& ledger);

// The sampled neighbourhood of some training nodes, made with the sampler that training uses.
// Sampling depends only on the node and the hop, so the neighbourhood of some of the seeds is a
// part of this one.
struct Draws {
  struct Hop {
    uint32_t destinations = 0;  // the first nodes
    // Destination i has the neighbours nodes[indices[offsets[i] ..]].
    std::vector<uint32_t> offsets;
    std::vector<uint32_t> indices;
  };
  // If more than 1: sampled from a smaller graph of the same kind; the real graph is this many
  // times larger. Some of the seeds then represent a whole batch.
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
  // Batches are cut from `from` in its order. A store lists nodes with large neighbourhoods first,
  // so the first batches are much larger than random ones: whole batches are drawn, the first one
  // first.
  bool in_order = false;
};

// The most memory that planning itself may take. It does not depend on the limit: if the limit is
// too small, planning should report that and not fail itself.
inline constexpr uint64_t kPlanningBytes = uint64_t{256} << 20;

// Small lists are loaded into memory, where reads are almost free: the plan is then the same on
// every disk. For others, sampling may make `disk_reads` reads.
DrawBudget draw_budget(const graph::Store& store, uint64_t disk_reads);

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
  // Of an average batch, between mark i and mark i + 1 of the store: all nodes, the
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
