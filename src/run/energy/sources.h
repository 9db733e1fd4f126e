// Everything that a meter reads: counters, GPUs, /proc, the clock. Opened once per batch; tests
// replace all of it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "energy/baseline.h"
#include "energy/counter.h"
#include "meter/gpu.h"

namespace plimsoll::energy {

struct GpuDevice {
  unsigned index = 0;
  std::string uuid;
  std::string name;
};

struct Sources {
  CpuCounters cpu;
  std::unique_ptr<meter::Gpus> gpus;  // null if no GPU is measured
  std::vector<GpuDevice> devices;     // the GPUs to measure
  std::string no_gpus_because;
  std::filesystem::path proc = "/proc";
  Neighbours::IsOurs is_ours;
  std::function<double()> own_cpu_seconds;
  std::function<double()> now;    // seconds of a monotonic clock
  std::function<double()> epoch;  // seconds since 1970
};

struct GpuChoice {
  std::vector<std::string> uuids;  // in this order
  std::string none_because;        // the reason, if no GPU is to be measured
};
// Does not throw if a source is missing: the figures give the reason.
Sources open_sources(const GpuChoice& choice);

// Whether there is any counter or GPU to read.
bool any(const Sources& sources);

// One line for messages: "energy: CPU by powercap; GPU 0, 1 by NVML".
std::string describe(const Sources& sources);

// Whether `ancestor` is `pid` itself or one of its ancestors.
bool descends_from(pid_t pid, pid_t ancestor);

// The CPU time of this process and of all children that were waited for. After a run this includes
// its whole tree.
double own_cpu_seconds();

// The CPU time of a period: that of our tree, and that of the whole host.
struct CpuUse {
  double seconds = 0;  // the length of the period
  double own_seconds = 0;
  std::optional<double> host_seconds;  // nothing if the kernel does not say
};

// Other processes count only if together they used more than this: a machine is never quite idle.
constexpr double kOthersShare = 0.05;    // of all CPU time in use
constexpr double kOthersCpus = 0.1;      // on average
constexpr double kOthersSeconds = 0.05;  // the kernel counts in hundredths

double other_cpu_seconds(const CpuUse& use);

// Why a package was not ours alone; empty if it was. Pure.
std::string cpu_shared_because(const CpuUse& use);

}  // namespace plimsoll::energy
