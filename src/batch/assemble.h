// Turns a drawn neighbourhood into a Batch: weights, the edges by source, and the gathered input.
#pragma once

#include <vector>

#include "batch/batch.h"
#include "kernel/kernels.h"
#include "sample/sampler.h"
#include "sample/topology.h"

namespace plimsoll::batch {

struct Assembly {
  Input input = Input::rows;
  Weighting weighting = Weighting::none;
  bool gradients = false;  // whether blocks need their edges by source
};

// One batch's memory, used again for the next. For one thread at a time.
class Assembler {
 public:
  Assembler(memory::Ledger& ledger, size_t hops, memory::PageSource* source);

  sample::Neighborhood& neighborhood() { return neighborhood_; }
  memory::Growing<int32_t>& labels() { return labels_; }

  // Fills batch() from the neighbourhood.
  void assemble(const sample::Topology& topology, const kernel::Rows& rows,
                const Assembly& assembly);
  Batch& batch() { return batch_; }

 private:
  struct Arrays {
    memory::Growing<float> destination_scale;
    memory::Growing<float> source_scale;
    memory::Growing<float> self_scale;
    memory::Growing<uint32_t> source_offsets;
    memory::Growing<uint32_t> by_source;
    memory::Growing<uint32_t> source_edges;
  };
  void weigh(const sample::Topology& topology, Weighting weighting, size_t hop);
  void weigh_by_graph(const sample::Topology& topology, size_t hop);
  void weigh_by_sample(size_t hop);
  Block view(size_t hop, Weighting weighting) const;
  void add_edges_by_source(size_t hop, Block& block);
  void gather_input(const kernel::Rows& rows, const Assembly& assembly);

  sample::Neighborhood neighborhood_;
  std::vector<Arrays> arrays_;  // one a hop
  memory::Growing<int32_t> labels_;
  memory::Growing<float> input_;
  memory::Growing<float> own_;
  Batch batch_;
};

}  // namespace plimsoll::batch
