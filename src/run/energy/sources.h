// All that a meter touches: counters, GPUs, /proc, the clock. Opened once for a batch; a test is
// all of it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "energy/baseline.h"
#include "energy/cpu_counters.h"
#include "meter/gpu.h"

namespace plimsoll::energy {

struct GpuDevice {
  unsigned index = 0;
  std::string uuid;
  std::string name;
};

struct Sources {
  CpuCounters cpu;
  std::unique_ptr<meter::Gpus> gpus;  // none where no GPU is to be measured
  std::vector<GpuDevice> devices;     // those to be measured
  std::string no_gpus_because;
  std::filesystem::path proc = "/proc";
  Neighbours::IsOurs is_ours;
  std::function<double()> own_cpu_seconds;
  std::function<double()> now;    // seconds, never backwards
  std::function<double()> epoch;  // seconds since 1970
};

struct GpuChoice {
  std::vector<std::string> uuids;  // in this order
  std::string none_because;        // where none is to be measured
};
// Never throws for what cannot be had: the figures will say so.
Sources open_sources(const GpuChoice& choice);

// Whether there is anything to read.
bool any(const Sources& sources);

// One line for people: "energy: CPU by powercap; GPU 0, 1 by NVML".
std::string describe(const Sources& sources);

// Whether `ancestor` is `pid` or above it.
bool descends_from(pid_t pid, pid_t ancestor);

}  // namespace plimsoll::energy
