// What making a batch costs: measured with the pipeline that training uses, on a made-up graph in
// memory.
#pragma once

#include <cstdint>
#include <memory>

#include "memory/ledger.h"

namespace plimsoll::plan {

// Seconds that one thread computes, with all other threads busy.
struct MakingRates {
  double batch_seconds = 0;  // of a batch, however small
  double edge_seconds = 0;   // to draw an edge and to number the node at its end
  double row_seconds = 0;    // to fetch a row of kRowBytes from anywhere in memory and to add it up
  double copy_seconds = 0;   // to fetch such a row and to keep it as it is
  double sort_seconds = 0;   // to sort an edge by source

  static constexpr uint64_t kRowBytes = 256;

  bool known() const { return edge_seconds > 0 && row_seconds > 0; }
  bool operator==(const MakingRates&) const = default;
};

// Takes a second, and most of the ledger up to 640 MiB.
MakingRates measure_making(unsigned threads, memory::Ledger& ledger);

// Threads that make batches for nobody while something else is measured, as those of a training do.
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
