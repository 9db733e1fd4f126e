// Measures how fast this machine makes batches, on a synthetic graph.
#pragma once

#include <cstdint>
#include <memory>

#include "memory/ledger.h"
#include "sample/topology.h"

namespace plimsoll::plan {

// A graph for measurements: all nodes have the same number of neighbours, drawn uniformly, so no
// node is hot.
struct RegularGraph {
  uint64_t nodes = 0;
  uint64_t degree = 0;
  uint64_t key = 0;  // other keys give other neighbours
  unsigned threads = 1;
};
sample::Topology make_topology(const RegularGraph& graph, memory::Ledger& ledger);

// The cost of making batches: CPU seconds of one thread while all other threads are busy. Measured
// with the pipeline that training uses, on a synthetic graph in memory.
struct MakingRates {
  double batch_seconds = 0;  // per batch, independent of its size
  double edge_seconds = 0;   // to sample an edge and to number the node at its end
  double row_seconds = 0;    // to read a row of kRowBytes from memory and add it to a sum
  double copy_seconds = 0;   // to read such a row and copy it
  double sort_seconds = 0;   // to sort an edge by source

  static constexpr uint64_t kRowBytes = 256;

  bool known() const { return edge_seconds > 0 && row_seconds > 0; }
  bool operator==(const MakingRates&) const = default;
};

// Takes a second, and most of the ledger up to 640 MiB.
MakingRates measure_making(unsigned threads, memory::Ledger& ledger);

// Threads that make batches while something else is measured, so that the load is like in a
// training run. The batches are not used.
class BusyMakers {
 public:
  BusyMakers(unsigned count, memory::Ledger& ledger);
  BusyMakers(const BusyMakers&) = delete;
  BusyMakers& operator=(const BusyMakers&) = delete;
  ~BusyMakers();

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace plimsoll::plan
