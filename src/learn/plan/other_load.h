// How much of this machine other programs use: a rate that is measured beside a compiler is not the
// machine's.
#pragma once

#include <optional>
#include <string_view>

#include "memory/host.h"

namespace plimsoll::plan {

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

}  // namespace plimsoll::plan
