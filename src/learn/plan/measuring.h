// Measuring the machine: how often work is done in a second, how fast batches are made, and whether
// other programs were busy meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "memory/host.h"
#include "memory/ledger.h"

namespace plimsoll::plan {

// How fast something goes, measured in little time and without knowing the answer: a disk may
// give a hundred reads a second or a million.

// Seconds from any start, never backwards.
using Clock = std::function<double()>;
double steady_seconds();
// That this thread, or all of this process, has computed: time that others took does not count.
double thread_cpu_seconds();
double process_cpu_seconds();

struct RateOptions {
  double seconds = 0.3;     // about how long to measure; four times that where work stalls
  uint64_t first = 1;       // units of the first round, which only warms up; later ones double
  uint64_t most = 1 << 20;  // units of a round
};

// Units of work a second: the median over rounds of about a tenth of the time each. work(count)
// does that many units.
double measure_rate(const RateOptions& options, const std::function<void(uint64_t count)>& work,
                    const Clock& clock = steady_seconds);

// How much of this machine other programs use: a rate that is measured beside a compiler is not the
// machine's.

// Seconds that CPUs have worked for anybody, by the first line of /proc/stat; time that a
// hypervisor gave to other machines counts, for it was not ours either. Nothing where the text is
// something else.
std::optional<double> worked_seconds(std::string_view stat, double ticks_per_second);

// From its start on. A kernel that does not say counts as quiet.
class OtherLoad {
 public:
  explicit OtherLoad(memory::Host host = memory::Host::real());
  // Cores, on average since the start.
  double cores() const;

 private:
  struct Moment {
    std::optional<double> all;  // CPU seconds of everybody
    double own = 0;             // CPU seconds of this process
    double now = 0;
  };
  Moment look() const;

  memory::Host host_;
  Moment start_;
};

// Whether so many cores' worth of other work spoils a measurement on a machine of `cpus`.
bool spoils(double other_cores, unsigned cpus);

// What making a batch costs: measured with the pipeline that training uses, on a made-up graph in
// memory.

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
