// Measures the machine: the rate of any work, how fast batches are made, and how much other
// programs use the CPU meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/host.h"
#include "memory/ledger.h"
#include "sample/topology.h"

namespace plimsoll::plan {

// Seconds since some fixed moment; never goes backwards.
using Clock = std::function<double()>;
double steady_seconds();
// CPU time of this thread or of this process, without the time that other programs used.
double thread_cpu_seconds();
double process_cpu_seconds();

struct RateOptions {
  double seconds = 0.3;     // about how long to measure; up to four times that if work stalls
  uint64_t first = 1;       // units of the first round, which only warms up; later rounds double
  uint64_t most = 1 << 20;  // the most units of a round
};

// Units of work per second: the median over stretches of about a quarter of the time each.
// work(count) does that many units. The rate need not be known before: a disk may do a hundred
// reads a second or a million. A stretch has many rounds, because a cloud's disk may be fast for
// some milliseconds and then wait for its next share of the time.
double measure_rate(const RateOptions& options, const std::function<void(uint64_t count)>& work,
                    const Clock& clock = steady_seconds);

// How much CPU other programs use, from construction on; a rate measured beside a compiler is too
// low. If the kernel does not tell, the load counts as 0.
class OtherLoad {
 public:
  explicit OtherLoad(Host host = Host::real());
  // The average number of cores since construction.
  double cores() const;

 private:
  struct Moment {
    std::optional<double> all;  // CPU seconds of all processes
    double own = 0;             // CPU seconds of this process
    double now = 0;
  };
  Moment look() const;

  Host host_;
  Moment start_;
};

// Whether so much other load spoils a measurement on a machine with `cpus` CPUs.
bool spoils(double other_cores, unsigned cpus);

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
