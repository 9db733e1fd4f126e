// A store's in-neighbour lists: two files with a line across each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "graph/store.h"
#include "io/lined_file.h"
#include "io/scattered_reader.h"
#include "memory/buffer.h"
#include "memory/growing.h"
#include "memory/ledger.h"

namespace plimsoll::sample {

// Where the lines stand, in bytes of either file; beyond a file's end means all of it.
struct TopologyLines {
  uint64_t offsets_bytes = UINT64_MAX;
  uint64_t neighbors_bytes = UINT64_MAX;
};

class Topology {
 public:
  // Resident arrays, without a store.
  Topology(memory::Pages offsets, memory::Pages neighbors, uint64_t nodes, uint64_t edges);
  Topology(const graph::Store& store, memory::Ledger& ledger);

  uint64_t nodes() const { return nodes_; }
  uint64_t edges() const { return edges_; }
  io::LinedFile& offsets() const { return *offsets_; }
  io::LinedFile& neighbors() const { return *neighbors_; }
  bool resident() const { return offsets_->resident() && neighbors_->resident(); }

 private:
  std::unique_ptr<io::LinedFile> offsets_;
  std::unique_ptr<io::LinedFile> neighbors_;
  uint64_t nodes_;
  uint64_t edges_;
};

struct ListBounds {
  uint64_t begin = 0;  // in the neighbours file, in values
  uint64_t degree = 0;
};

// One thread's access to the lists. What it reads from disk it checks as loading does.
class ListReader {
 public:
  // The topology must outlive it.
  ListReader(const Topology& topology, memory::Ledger& ledger, const io::ReadOptions& options);

  void bounds(std::span<const uint32_t> nodes, ListBounds* out);
  // The values at these places of the neighbours file.
  void neighbors(std::span<const uint64_t> places, uint32_t* out);
  // Asks the memory for a value that neighbors() will want.
  void prefetch(uint64_t place) const {
    if (prefetched_ != nullptr) __builtin_prefetch(prefetched_ + place);
  }

  const Topology& topology() const { return topology_; }
  io::ScatteredReader& reader() { return reader_; }

 private:
  const Topology& topology_;
  const uint32_t* prefetched_ = nullptr;  // null where it would not be mapped in memory
  io::ScatteredReader reader_;
};

// Reads both files as far as the lines say and checks that every value is possible, so that nothing
// read later can lead outside; throws Error{store} where one is not.
Topology load_topology(const graph::Store& store, memory::Ledger& ledger,
                       const TopologyLines& lines, unsigned threads,
                       const std::function<void(uint64_t bytes)>& on_bytes);

}  // namespace plimsoll::sample
