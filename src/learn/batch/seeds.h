// Seeds are the nodes that batches start from. This file gives their order in a pass, and the nodes
// and labels of each split.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "graph/store.h"
#include "memory/buffer.h"
#include "memory/index_set.h"
#include "memory/ledger.h"

namespace plimsoll::batch {

// A random permutation of the numbers below `count` that needs no memory: a Feistel network over
// the next even power of two, applied until the result is below `count`. The key selects the
// permutation.
class Shuffle {
 public:
  Shuffle(uint64_t count, uint64_t key);
  uint64_t at(uint64_t i) const;
  bool operator==(const Shuffle&) const = default;

 private:
  uint64_t permute(uint64_t x) const;

  uint64_t count_;
  uint64_t key_;
  int half_bits_;
};

// The nodes of a pass in order: a list, a shuffled list, all nodes, or the nodes of a set. Refers
// to the list and does not copy it.
class Seeds {
 public:
  static Seeds in_order(std::span<const uint32_t> nodes) { return {nodes, nodes.size()}; }
  static Seeds shuffled(std::span<const uint32_t> nodes, uint64_t key) {
    Seeds seeds(nodes, nodes.size());
    seeds.shuffle_.emplace(nodes.size(), key);
    return seeds;
  }
  static Seeds all(uint64_t count) { return {{}, count}; }
  // The set must outlive the Seeds.
  static Seeds members(const memory::IndexSet& set) {
    Seeds seeds({}, set.size());
    seeds.set_ = &set;
    return seeds;
  }

  // Some of the nodes, in the same order. Not of a shuffled list.
  Seeds part(uint64_t first, uint64_t count) const {
    Seeds some = *this;
    some.first_ += first;
    some.count_ = count;
    return some;
  }

  uint64_t size() const { return count_; }
  uint64_t batches(uint64_t batch_size) const { return (count_ + batch_size - 1) / batch_size; }
  // The index in the list of the pass's i-th node.
  uint64_t place(uint64_t i) const { return shuffle_ ? shuffle_->at(i) : first_ + i; }
  uint32_t node(uint64_t place) const {
    if (set_ != nullptr) return static_cast<uint32_t>(set_->at(place));
    return nodes_.empty() ? static_cast<uint32_t>(place) : nodes_[place];
  }
  // Whether both are the same nodes of the same list, in the same order.
  bool operator==(const Seeds& other) const {
    return nodes_.data() == other.nodes_.data() && nodes_.size() == other.nodes_.size() &&
           count_ == other.count_ && first_ == other.first_ && set_ == other.set_ &&
           shuffle_ == other.shuffle_;
  }

 private:
  Seeds(std::span<const uint32_t> nodes, uint64_t count) : nodes_(nodes), count_(count) {}

  std::span<const uint32_t> nodes_;  // empty: the node is its own index
  uint64_t count_;
  uint64_t first_ = 0;  // of a part
  const memory::IndexSet* set_ = nullptr;
  std::optional<Shuffle> shuffle_;
};

// Cuts every batch of a pass among several processes (ranks): each takes a contiguous part of its
// seeds. The parts differ by one seed at most; parts of a short batch may be empty.
struct BatchCut {
  unsigned part = 0;
  unsigned parts = 1;

  uint64_t begin(uint64_t seeds) const { return seeds * part / parts; }
  uint64_t end(uint64_t seeds) const { return seeds * (part + 1) / parts; }
  bool empty(uint64_t seeds) const { return begin(seeds) == end(seeds); }
  bool whole() const { return parts == 1; }
  bool operator==(const BatchCut&) const = default;
};

// The nodes of a split and their labels: a few bytes per node of the split, not an array as long as
// the graph.
struct Split {
  memory::Buffer<uint32_t> nodes;  // positions in the store, ascending
  memory::Buffer<int32_t> labels;  // of these nodes
};

struct Splits {
  Split train;
  Split valid;
  Split test;
};

// Reads labels.i32 once and keeps the labels of split nodes. Throws Error{store} if a position or a
// label is invalid, and Error{input} if a split node has no label.
Splits load_splits(const graph::Store& store, memory::Ledger& ledger);
// What the splits of so many nodes take, all three together ...
uint64_t splits_bytes(uint64_t nodes);
// ... and what load_splits() takes in addition, until it returns.
uint64_t splits_loading_bytes();

}  // namespace plimsoll::batch
