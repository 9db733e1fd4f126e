// A batch as the trainer sees it: everything that a model needs to compute the seeds, already
// collected in memory. The trainer does not know about stores, samplers or where rows came from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/growing.h"
#include "sample/sampler.h"

namespace plimsoll::batch {

// The input of a model's first layer.
enum class Input {
  rows,               // the rows of all nodes (gat); without hops, of the seeds (mlp)
  aggregated,         // weighted sums over the outermost hop, including the own row (gcn)
  aggregated_and_own  // the sums, and separately the destinations' own rows (sage)
};

// How the sum over a neighbour list is weighted.
enum class Weighting {
  none,         // no sums are made before the model
  mean,         // 1 / length of the list
  gcn_sampled,  // as in GCN, with the degrees in the sampled neighbourhood
  gcn_full,     // as in GCN, with the degrees in the graph: an estimate of the full sum
};

// One layer's bipartite graph. nn/operations.h explains the arrays.
struct Block {
  uint32_t destinations = 0;
  uint32_t sources = 0;
  std::span<const uint32_t> offsets;
  std::span<const uint32_t> indices;
  std::span<const uint32_t> source_offsets;
  std::span<const uint32_t> by_source;
  std::span<const uint32_t> source_edges;
  std::span<const float> destination_scale;
  std::span<const float> source_scale;
  std::span<const float> self_scale;
};

struct Matrix {
  const float* data = nullptr;
  uint64_t rows = 0;
  uint64_t columns = 0;
};

// Views into memory of the pipeline, valid until the batch is given back. If a batch does not fit
// into memory, the pipeline makes it in several parts; this is then one part.
struct Batch {
  uint64_t index = 0;               // of the batch in its pass
  uint64_t first_seed = 0;          // index of the first seed in the pass
  uint32_t before = 0;              // seeds in earlier parts of the batch
  uint32_t whole = 0;               // seeds in all parts of the batch that this process makes
  uint32_t of_all = 0;              // seeds in the batch, those of other ranks included
  std::span<const uint32_t> nodes;  // positions in the store: the seeds, then the sampled nodes
  uint32_t seeds = 0;
  std::span<const int32_t> labels;  // of the seeds; empty if the pass has no labels
  // One block per layer in the order of computation; the last ends at the seeds. If the input is
  // aggregated, the first layer's sums are already made, and it has no block here.
  std::vector<Block> blocks;
  Matrix input;
  Matrix own;  // only with Input::aggregated_and_own

  bool first_part() const { return before == 0; }
  bool last_part() const { return before + seeds == whole; }
};

}  // namespace plimsoll::batch
