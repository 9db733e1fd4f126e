// The nodes that batches begin with: in which order, and those of each split.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "feature/node_set.h"
#include "graph/store.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::batch {

// Which nodes a pass over the data takes, batch by batch: a position in a list that exists already,
// never a copy of it.

// A permutation of the numbers below `count` that needs no memory: a Feistel network over the next
// even power of two, walked until it lands inside. The key chooses it.
class Shuffle {
 public:
  Shuffle(uint64_t count, uint64_t key);
  uint64_t at(uint64_t i) const;

 private:
  uint64_t permute(uint64_t x) const;

  uint64_t count_;
  uint64_t key_;
  int half_bits_;
};

// The nodes of a pass in order: a list as it stands, a list shuffled, all nodes, or a set's.
class Seeds {
 public:
  static Seeds in_order(std::span<const uint32_t> nodes) { return {nodes, nodes.size()}; }
  static Seeds shuffled(std::span<const uint32_t> nodes, uint64_t key) {
    Seeds seeds(nodes, nodes.size());
    seeds.shuffle_.emplace(nodes.size(), key);
    return seeds;
  }
  static Seeds all(uint64_t count) { return {{}, count}; }
  // The set must outlive them.
  static Seeds members(const feature::NodeSet& set) {
    Seeds seeds({}, set.size());
    seeds.set_ = &set;
    return seeds;
  }

  uint64_t size() const { return count_; }
  uint64_t batches(uint64_t batch_size) const { return (count_ + batch_size - 1) / batch_size; }
  // The place in the list of the pass's i-th node.
  uint64_t place(uint64_t i) const { return shuffle_ ? shuffle_->at(i) : i; }
  uint32_t node(uint64_t place) const {
    if (set_ != nullptr) return static_cast<uint32_t>(set_->at(place));
    return nodes_.empty() ? static_cast<uint32_t>(place) : nodes_[place];
  }

 private:
  Seeds(std::span<const uint32_t> nodes, uint64_t count) : nodes_(nodes), count_(count) {}

  std::span<const uint32_t> nodes_;  // empty: the numbers themselves
  uint64_t count_;
  const feature::NodeSet* set_ = nullptr;
  std::optional<Shuffle> shuffle_;
};

// A split of the nodes with their labels: a few bytes for each labelled node, never an array as
// long as the graph.

struct Split {
  memory::Buffer<uint32_t> nodes;  // positions, ascending
  memory::Buffer<int32_t> labels;  // of those
};

struct Splits {
  Split train;
  Split valid;
  Split test;
};

// Reads labels.i32 once, keeping those of split nodes. Throws Error{store} where a position or a
// label is impossible and Error{input} where a split node has no label.
Splits load_splits(const graph::Store& store, memory::Ledger& ledger);

}  // namespace plimsoll::batch
