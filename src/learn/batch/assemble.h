// Turns a sampled neighbourhood into a Batch: the input of the first layer, and the blocks of the
// other layers with their weights and, for gradients, their edges sorted by source. The first
// layer's sums over neighbours are made here for every batch, along its last hop, or are read from
// a store that has them precomputed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "batch/batch.h"
#include "batch/flat.h"
#include "graph/store.h"
#include "kernel/kernels.h"
#include "recipe/recipe.h"
#include "sample/sampler.h"

namespace plimsoll::batch {

// A block's edges sorted by source; gradients flow from destinations to sources along them.
struct EdgesBySource {
  std::span<uint32_t> source_offsets;  // sources + 2 values; the last is only for sorting
  std::span<uint32_t> by_source;       // one value per edge: the destination
  std::span<uint32_t> source_edges;    // one value per edge: its index in Block::indices
};

// Fills `out` from the block's offsets and indices. Edges of the same source stay in order.
void sort_by_source(const Block& block, const EdgesBySource& out);

// 1 / sqrt(value). In GCN the weight of an edge is one_over_root(degree + 1) of one end times that
// of the other.
float one_over_root(uint64_t value);

struct Assembly {
  Input input = Input::rows;
  Weighting weighting = Weighting::none;
  bool gradients = false;  // whether blocks need their edges sorted by source
  // Whether the store's rows already hold the sums (graph::FirstLayer). The last hop then samples
  // no neighbours.
  bool precomputed = false;

  bool needs_all_degrees() const { return weighting == Weighting::gcn_full; }
};

// The model whose first layer's sums a store holds.
recipe::ModelKind model_of(graph::FirstLayer first_layer);

// How batches are assembled: the first form from plain features, the second from a store's rows,
// which may be precomputed.
Assembly assembly_for(recipe::ModelKind kind, recipe::Norm norm);
Assembly assembly_for(const recipe::Recipe& recipe, graph::FirstLayer first_layer);

// The fan-out to sample, the seeds' hop first: that of the recipe, but 0 for the last hop if the
// store holds its sums; no hops for mlp.
std::vector<uint32_t> drawn_fanout(const recipe::Recipe& recipe, graph::FirstLayer first_layer);

// Throws Error{usage} if the store's rows do not suit the recipe's first layer.
void check_first_layer(const graph::Store& store, const recipe::Recipe& recipe);

// Where the arrays of a batch get their memory; null: from the kernel.
struct BatchPages {
  memory::PageSource* blocks = nullptr;  // neighbourhood, weights, labels
  memory::PageSource* rows = nullptr;    // the input and the FlatBatch

  // Of those who only read a batch in that form, or of those who read its blocks.
  static BatchPages of(memory::PageSource* source, bool flat) {
    return {.blocks = flat ? nullptr : source, .rows = source};
  }
};

// Owns the memory of one batch and reuses it for the next. For one thread at a time.
class Assembler {
 public:
  Assembler(memory::Ledger& ledger, size_t hops, BatchPages pages);
  // The memory for a batch of that size with rows of `columns` values. `reads_disk`: some rows may
  // be on disk.
  static uint64_t bytes_needed(const sample::BatchSize& size, const Assembly& assembly,
                               uint64_t columns, bool reads_disk);

  sample::Neighborhood& neighborhood() { return neighborhood_; }
  memory::Growing<int32_t>& labels() { return labels_; }
  // Where each node's row is (feature/rows.h); set by the code that calls fill().
  memory::Growing<uint32_t>& places() { return places_; }
  // The batch in its other form; filled only if the pipeline has tables for it.
  FlatBatch& flat() { return flat_; }

  // Fills batch() from the neighbourhood, except the values of the input, and leases memory for
  // them.
  void prepare(const Assembly& assembly, uint32_t columns);
  Batch& batch() { return batch_; }
  const Assembly& assembly() const { return assembly_; }
  // The hop whose sums are the input, unless they are precomputed.
  const sample::Hop& summed_hop() const { return neighborhood_.hops.back(); }

  // Fills in all values of the input. `places` has the place of every node of the neighbourhood in
  // `rows`.
  void fill(const kernel::Rows& rows, const uint32_t* places);
  // A range of the input's rows. The edges are for sums: see kernel::Aggregate.
  struct Part {
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t from_edge = 0;
    uint64_t to_edge = UINT64_MAX;
  };
  void fill_rows(const kernel::Rows& rows, const uint32_t* places, const Part& part);
  void fill_sums(const kernel::Rows& rows, const uint32_t* places, const Part& part);
  void fill_own(const kernel::Rows& rows, const uint32_t* places, const Part& part);

 private:
  struct Arrays {
    memory::Growing<float> destination_scale;
    memory::Growing<float> source_scale;
    memory::Growing<float> self_scale;
    memory::Growing<uint32_t> source_offsets;
    memory::Growing<uint32_t> by_source;
    memory::Growing<uint32_t> source_edges;
  };
  void weigh(Weighting weighting, size_t hop);
  void weigh_by_graph(size_t hop);
  void weigh_by_sample(size_t hop);
  Block view(size_t hop, Weighting weighting) const;
  void add_edges_by_source(size_t hop, Block& block);

  sample::Neighborhood neighborhood_;
  std::vector<Arrays> arrays_;  // one per hop
  memory::Growing<int32_t> labels_;
  memory::Growing<uint32_t> places_;
  memory::Growing<float> input_;
  memory::Growing<float> own_;
  FlatBatch flat_;
  Assembly assembly_;
  Batch batch_;
};

}  // namespace plimsoll::batch
