// What batches of a recipe look like on a store: how many nodes and edges they have, and how far
// down the hot-first order they reach. Found by drawing some, straight from the disk, with the
// sampler that training uses.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/store.h"
#include "memory/ledger.h"
#include "recipe/recipe.h"

namespace plimsoll::plan {

struct HopSize {
  uint64_t destinations = 0;
  uint64_t edges = 0;
};

struct BatchSize {
  uint64_t seeds = 0;
  uint64_t nodes = 0;         // all different ones
  std::vector<HopSize> hops;  // the seeds' first
};

struct Probe {
  BatchSize batch;  // expected, of a whole batch
  // Positions of nodes of the drawn batches, ascending: all, and those whose lists were read.
  std::vector<uint32_t> visited;
  std::vector<uint32_t> expanded;

  // The share of visits to positions below this.
  static double share_below(const std::vector<uint32_t>& positions, uint64_t node);
};

// `most_reads` bounds its time: beyond it a smaller batch is drawn and scaled up.
Probe probe(const graph::Store& store, const recipe::Recipe& recipe, uint64_t most_reads,
            memory::Ledger& ledger);

}  // namespace plimsoll::plan
