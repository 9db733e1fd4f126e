// A store's in-neighbour lists: two files, each with a line (io/lined_file.h). The part of a file
// before its line is in memory ("resident"); the rest is read from disk when it is needed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "graph/store.h"
#include "io/lined_file.h"
#include "io/scattered_reader.h"
#include "memory/buffer.h"
#include "memory/growing.h"
#include "memory/ledger.h"

namespace plimsoll::sample {

// The positions of the lines, in bytes of each file. A value beyond the end means the whole file.
struct TopologyLines {
  uint64_t offsets_bytes = UINT64_MAX;
  uint64_t neighbors_bytes = UINT64_MAX;
  bool shared = false;  // other processes will use the same memory: LinedFile::share
};

class Topology {
 public:
  // Arrays in memory, without a store.
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

constexpr uint64_t kNotResident = UINT64_MAX;  // as the beginning of a list

struct ListBounds {
  uint64_t begin = 0;  // in the neighbours file, in values
  uint64_t degree = 0;
};

// Fills in the bounds of lists whose offsets are resident, and kNotResident for the
// others. Returns how many those are.
uint64_t find_resident_bounds(const Topology& topology, std::span<const uint32_t> nodes,
                              ListBounds* out);
// For values read from disk: throw Error{store} if the file is damaged.
ListBounds checked_bounds(const Topology& topology, uint64_t node,
                          const std::array<uint64_t, 2>& ends);
uint32_t checked_neighbor(const Topology& topology, uint32_t neighbor);

// One thread's access to the lists. Values read from disk get the same checks as when loading.
class ListReader {
 public:
  // The topology must outlive it.
  ListReader(const Topology& topology, memory::Ledger& ledger, const io::ReadOptions& options);

  void bounds(std::span<const uint32_t> nodes, ListBounds* out);
  // The values at these positions of the neighbours file.
  void neighbors(std::span<const uint64_t> places, uint32_t* out);
  // Prefetches a value that neighbors() will read.
  void prefetch(uint64_t place) const {
    if (prefetched_ != nullptr) __builtin_prefetch(prefetched_ + place);
  }

  const Topology& topology() const { return topology_; }
  io::ScatteredReader& reader() { return reader_; }

 private:
  const Topology& topology_;
  const uint32_t* prefetched_ = nullptr;  // the neighbours in memory; null if there are none
  io::ScatteredReader reader_;
};

// Checks the offsets of a store, from the first on, a piece after the other. Throws Error{store}.
class OffsetsCheck {
 public:
  OffsetsCheck(std::string path, uint64_t edges) : path_(std::move(path)), edges_(edges) {}
  void add(std::span<const uint64_t> piece);
  // `whole`: all offsets were added.
  void finish(bool whole = true) const;

 private:
  std::string path_;
  uint64_t edges_;
  uint64_t count_ = 0;
  uint64_t first_ = 0;
  uint64_t last_ = 0;
};
// Throws Error{store} if one of them is not a node.
void check_neighbors(const std::string& path, std::span<const uint32_t> values, uint64_t nodes);

// Reads both files up to their lines and checks that every value is in range, so that no later
// access can leave the arrays; throws Error{store} if one is not.
Topology load_topology(const graph::Store& store, memory::Ledger& ledger,
                       const TopologyLines& lines, unsigned threads,
                       const std::function<void(uint64_t bytes)>& on_bytes);

}  // namespace plimsoll::sample
