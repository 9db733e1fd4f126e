// A batch as other programs want it: one list of edges over all hops instead of a block per layer,
// with 64-bit numbers and the nodes' original ids. The edges have the order of PyTorch Geometric:
// by hop, then by destination. An edge points from a sampled neighbour (source) to the node that it
// was sampled for (destination); both are indices into the batch's nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "memory/growing.h"
#include "memory/ledger.h"
#include "sample/sampler.h"

namespace plimsoll::batch {

// What a FlatBatch looks up, by position in the store. Both must outlive the pipeline.
struct FlatTables {
  std::span<const uint32_t> ids;    // original ids; empty: a node's id is its position
  std::span<const int32_t> labels;  // of all nodes; empty: only those of the pass, if it has any
};

// Owns its memory and reuses it for the next batch. For one thread at a time.
class FlatBatch {
 public:
  FlatBatch(memory::Ledger& ledger, memory::PageSource* source);
  static uint64_t bytes_needed(const sample::BatchSize& size);

  // `seed_labels` are used if the tables have none. `place` returns the index of a seed in the list
  // that the pass goes through.
  void fill(const sample::Neighborhood& from, const FlatTables& tables,
            std::span<const int32_t> seed_labels, const std::function<uint64_t(uint32_t)>& place);

  std::span<int64_t> ids() const { return ids_.first(nodes_); }
  std::span<int64_t> labels() const { return labels_.first(label_count_); }
  std::span<int64_t> places() const { return places_.first(seeds_); }  // of the seeds
  // The sources of all edges, followed by their destinations.
  std::span<int64_t> ends() const { return ends_.first(2 * edges_); }
  uint64_t edges() const { return edges_; }
  // The number of seeds, then the nodes that each hop has met first.
  std::span<const int64_t> hop_nodes() const { return hop_nodes_; }
  std::span<const int64_t> hop_edges() const { return hop_edges_; }

 private:
  void list_edges(const sample::Neighborhood& from);

  memory::Growing<int64_t> ids_;
  memory::Growing<int64_t> labels_;
  memory::Growing<int64_t> places_;
  memory::Growing<int64_t> ends_;
  uint64_t nodes_ = 0;
  uint64_t label_count_ = 0;
  uint64_t seeds_ = 0;
  uint64_t edges_ = 0;
  std::vector<int64_t> hop_nodes_;
  std::vector<int64_t> hop_edges_;
};

}  // namespace plimsoll::batch
