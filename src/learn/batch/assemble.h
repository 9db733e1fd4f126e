// A sampled neighbourhood with its rows becomes a Batch: sums of the first layer, blocks of the
// others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "batch/batch.h"
#include "kernel/kernels.h"
#include "sample/sampler.h"

namespace plimsoll::batch {

// A block's edges sorted by their source, which gradients flow along.

struct EdgesBySource {
  std::span<uint32_t> source_offsets;  // sources + 2; the last one is for the sorting alone
  std::span<uint32_t> by_source;       // as many as edges
  std::span<uint32_t> source_edges;
};

// Fills `out` from the block's offsets and indices; within a source, edges stay in order.
void sort_by_source(const Block& block, const EdgesBySource& out);

// Turns a drawn neighbourhood into a Batch: weights, the edges by source, and the gathered input.

struct Assembly {
  Input input = Input::rows;
  Weighting weighting = Weighting::none;
  bool gradients = false;  // whether blocks need their edges by source
  // Whether rows hold the sums, and the own row behind them; see graph::FirstLayer. The last hop
  // draws nobody then.
  bool precomputed = false;

  bool needs_all_degrees() const { return weighting == Weighting::gcn_full; }
};

// One batch's memory, used again for the next. For one thread at a time.
class Assembler {
 public:
  Assembler(memory::Ledger& ledger, size_t hops, memory::PageSource* source);
  // What a batch of that size takes, of rows with so many columns, some of them perhaps on disk.
  static uint64_t bytes_needed(const sample::BatchSize& size, const Assembly& assembly,
                               uint64_t columns, bool reads_disk);

  sample::Neighborhood& neighborhood() { return neighborhood_; }
  memory::Growing<int32_t>& labels() { return labels_; }
  // Where each node's row is; for who fills the input.
  memory::Growing<uint32_t>& places() { return places_; }

  // Fills batch() from the neighbourhood, but for the values of its input; leases all they need.
  void prepare(const Assembly& assembly, uint32_t columns);
  Batch& batch() { return batch_; }
  const Assembly& assembly() const { return assembly_; }
  // The hop whose sums are the input, unless they are precomputed.
  const sample::Hop& summed_hop() const { return neighborhood_.hops.back(); }

  // The values of the input from rows, where `places` says for every node of the neighbourhood;
  // as a whole, or ...
  void fill(const kernel::Rows& rows, const uint32_t* places);
  // ... some of it: gathered rows, sums, own rows.
  struct Part {
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t from_edge = 0;  // of sums, see kernel::Aggregate
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
  std::vector<Arrays> arrays_;  // one a hop
  memory::Growing<int32_t> labels_;
  memory::Growing<uint32_t> places_;
  memory::Growing<float> input_;
  memory::Growing<float> own_;
  Assembly assembly_;
  Batch batch_;
};

}  // namespace plimsoll::batch
