// A store's in-neighbour lists, resident in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "graph/store.h"
#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::sample {

class Topology {
 public:
  Topology(memory::Buffer<uint64_t> offsets, memory::Buffer<uint32_t> neighbors)
      : offsets_(std::move(offsets)), neighbors_(std::move(neighbors)) {}

  uint64_t nodes() const { return offsets_.size() - 1; }
  uint64_t edges() const { return neighbors_.size(); }
  uint64_t begin(uint32_t node) const { return offsets_[node]; }
  uint64_t degree(uint32_t node) const { return offsets_[node + 1] - offsets_[node]; }
  uint32_t neighbor(uint64_t place) const { return neighbors_[place]; }

  void prefetch_list_bounds(uint32_t node) const { __builtin_prefetch(&offsets_[node]); }
  void prefetch_neighbor(uint64_t place) const { __builtin_prefetch(&neighbors_[place]); }

 private:
  memory::Buffer<uint64_t> offsets_;
  memory::Buffer<uint32_t> neighbors_;
};

// Reads offsets and neighbours and checks that every value is possible, so that nothing read later
// can lead outside; throws Error{store} where one is not.
Topology load_topology(const graph::Store& store, memory::Ledger& ledger, unsigned threads,
                       const std::function<void(uint64_t bytes)>& on_bytes);

}  // namespace plimsoll::sample
