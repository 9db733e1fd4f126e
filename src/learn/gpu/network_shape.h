// What the plan must know about a network on a GPU (gpu/network.h): whether a GPU can make its
// batches, the positions of their trees, and the memory that they take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "recipe/recipe.h"

namespace plimsoll::gpu {

struct NetworkShape {
  recipe::Recipe recipe;
  uint64_t columns = 0;  // of the features
  uint64_t classes = 0;
  uint32_t part_seeds = 0;    // the most seeds that are computed at a time
  uint64_t longest_pass = 0;  // the most nodes that begin() is given
};

// Why batches of this recipe cannot be made on a GPU; empty if they can.
std::string cannot_draw(const recipe::Recipe& recipe, bool precomputed_sums);

// The fan-outs that the GPU's code is compiled for.
std::set<uint32_t> drawn_fanouts(const recipe::Recipe& recipe);

// The positions of a part's tree whose nodes are kept: entry h are those that hop h draws for. gat
// needs the draws of the last hop one by one, too, and has an entry more. mlp: one entry.
std::vector<uint64_t> tree_positions(const recipe::Recipe& recipe, uint64_t seeds);
// The hop whose positions are the results of a layer: those of the last layer are the seeds.
size_t hop_of(const recipe::Recipe& recipe, size_t layer);
// How many rows a layer multiplies with its weight: one for each result. gat multiplies first, so
// one for each source.
uint64_t multiplied_rows(const recipe::Recipe& recipe, const std::vector<uint64_t>& positions,
                         size_t layer);

// gat: of one layer.
struct AttentionCounts {
  uint64_t z = 0;
  uint64_t weights = 0;     // one for each source and head
  uint64_t own_scores = 0;  // one for each result and head
};

// How many values each array of a network has.
struct NetworkCounts {
  uint64_t order = 0;
  uint64_t losses = 0;
  uint64_t nodes = 0;
  uint64_t degrees = 0;
  uint64_t labels = 0;
  uint64_t input = 0;
  uint64_t own = 0;
  std::vector<uint64_t> sums;
  std::vector<uint64_t> values;
  std::vector<AttentionCounts> attention;
  uint64_t logits = 0;
  uint64_t chunks = 0;
  uint64_t sums_gradient = 0;
  uint64_t own_gradient = 0;
  uint64_t score_gradients = 0;
  uint64_t own_score_gradients = 0;
  uint64_t partial_sums = 0;
};

NetworkCounts counts_of(const NetworkShape& shape);
// The memory that a network takes, without parameters and their optimizer.
uint64_t network_bytes(const NetworkShape& shape);
// The part of it that depends on the length of a pass, and not on the seeds.
uint64_t pass_bytes(const NetworkShape& shape);

// Threads that compute a row of so many columns.
uint32_t lanes_of(uint64_t columns);

// The largest number of threads that one kind of work of a part has. It must not exceed
// kThreadLimit: the device code counts rows and threads with 31 bits.
uint64_t most_threads(const NetworkShape& shape);
constexpr uint64_t kThreadLimit = (uint64_t{1} << 31) - 1;
// The partial sums that a sum over so many rows is made of.
uint32_t partial_sums_of(uint64_t rows);

}  // namespace plimsoll::gpu
