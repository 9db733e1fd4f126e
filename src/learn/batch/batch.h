// A batch as the trainer sees it: everything a model needs to compute its seeds, gathered and
// ready. The trainer knows nothing of stores, samplers or where rows came from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/growing.h"
#include "sample/sampler.h"

namespace plimsoll::batch {

// What a model's first layer is given.
enum class Input {
  rows,               // the rows of all nodes (gat) or, without hops, of the seeds (mlp)
  aggregated,         // the first hop's weighted sums, own row included (gcn)
  aggregated_and_own  // the sums, and the destinations' own rows beside them (sage)
};

// How a sum along a list is weighted.
enum class Weighting {
  none,         // no sums are made before the model
  mean,         // 1 / length of the list
  gcn_sampled,  // GCN's, by the degrees that the neighbourhood has
  gcn_full,     // GCN's, by the degrees that the graph has, as an estimate of the full sum
};

// One layer's bipartite graph; see nn/block_tensors.h for the meaning of every array.
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

// Views into memory of the pipeline, valid until the batch is given back.
struct Batch {
  uint64_t index = 0;               // in its pass
  uint64_t first_seed = 0;          // in its pass
  uint32_t before = 0;              // seeds of earlier parts, where the batch comes in several
  uint32_t whole = 0;               // seeds of all its parts
  std::span<const uint32_t> nodes;  // positions in the store: the seeds, then what they reach
  uint32_t seeds = 0;
  std::span<const int32_t> labels;  // of the seeds; empty where the pass has none
  // In the order in which layers compute, so that the last one ends at the seeds. Where the input
  // is aggregated, the first hop is done and has no block here.
  std::vector<Block> blocks;
  Matrix input;
  Matrix own;  // Input::aggregated_and_own

  bool first_part() const { return before == 0; }
  bool last_part() const { return before + seeds == whole; }
};

}  // namespace plimsoll::batch
