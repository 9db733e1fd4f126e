// Whether a package was ours alone: the CPU time of the whole host against that of our tree.
#pragma once

#include <optional>
#include <string>

namespace plimsoll::energy {

// This process and all children that were waited for: called when a run is over, all of its tree.
double own_cpu_seconds();

struct CpuUse {
  double seconds = 0;  // how long
  double own_seconds = 0;
  std::optional<double> host_seconds;  // nothing where the kernel does not say
};

// Other processes count only if together they used more than this: a machine is never quite idle.
constexpr double kOthersShare = 0.05;    // of all CPU time in use
constexpr double kOthersCpus = 0.1;      // on average
constexpr double kOthersSeconds = 0.05;  // the kernel counts in hundredths

double other_cpu_seconds(const CpuUse& use);

// Empty where the packages were ours. Pure.
std::string cpu_shared_because(const CpuUse& use);

}  // namespace plimsoll::energy
