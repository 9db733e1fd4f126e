// How large batches get: found by drawing some.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/store.h"
#include "memory/ledger.h"
#include "plan/shape.h"
#include "recipe/recipe.h"
#include "sample/batch_size.h"

namespace plimsoll::plan {

// Some neighbourhoods, drawn straight from the disk with the sampler that training uses: what is
// expected of batches is counted in them, see probe.h.

// The neighbourhood of some training nodes. Draws depend on the node and the hop alone, so the
// neighbourhood of a part of the seeds is a part of this one.
struct Draws {
  struct Hop {
    uint32_t destinations = 0;  // the first of the nodes
    std::vector<uint32_t> offsets;
    std::vector<uint32_t> indices;  // destination i draws nodes[indices[offsets[i] ...]]
  };
  // More than 1: drawn from a small graph of the same kind as the one in question, which is so many
  // times as large. A part of the seeds then stands for all of a batch.
  double scale = 1;
  uint64_t seeds = 0;             // 0 where not even one could be drawn
  std::vector<uint32_t> nodes;    // positions in the store; the seeds come first
  std::vector<uint32_t> degrees;  // in the whole graph, of the last hop's destinations; 0
                                  // where it draws nobody
  std::vector<Hop> hops;          // as many as layers, the seeds' first; none for mlp
};

struct DrawBudget {
  uint64_t reads = 0;
  bool in_memory = false;  // loads the lists first, so that a read costs next to nothing
};

// As many seeds as about so many reads and the ledger allow, in random order.
Draws draw(const graph::Store& store, const recipe::Recipe& recipe, const DrawBudget& budget,
           memory::Ledger& ledger);

// What a batch is expected to hold: how many nodes and edges, and how far down the hot-first order
// it reaches. Counted in what was drawn, for any batch size; pure.

using sample::BatchSize;
using sample::HopSize;

struct Probe {
  BatchSize batch;    // on average: what a batch costs in time
  BatchSize largest;  // of those seen: what a batch costs in memory
  // Of an average batch, from mark i of the store to mark i + 1: all nodes, those whose neighbours
  // are drawn, and the reads that drawing takes where none of the lists is resident.
  std::vector<double> visited;
  std::vector<double> expanded;
  std::vector<double> list_reads;
};

// Batches of up to as many seeds as were drawn are cut from the draws. Beyond that sizes grow as
// they did from half of the seeds to all; and each part of the order by itself, for the hot nodes
// are all met soon while cold ones are nearly always new.
Probe expect_batch(const Draws& draws, const StoreShape& store, uint64_t batch_size);

}  // namespace plimsoll::plan
