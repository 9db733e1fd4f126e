// All that doctor looks at, as values; reading them is one function, judging them another
// (checkup.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/circumstances.h"
#include "memory/host.h"
#include "meter/cpu_power.h"
#include "meter/gpu.h"
#include "process/level.h"

namespace plimsoll::diagnosis {

struct LevelFact {
  process::Level level = process::Level::sweep;
  std::string obstacle;  // empty where it works
};

struct SupervisionFacts {
  bool pidfds = false;
  std::vector<LevelFact> levels;  // the strongest first
  process::Level in_force = process::Level::sweep;
  std::string memory_group;     // "cgroup v2"; empty where none can bound a command's memory
  std::string memory_obstacle;  // why not
};

struct DiskFacts {
  std::filesystem::path folder;
  std::optional<Space> space;
  std::string unmeasured_because;
  double write_bytes_per_second = 0;
  double read_bytes_per_second = 0;
  bool past_the_cache = false;
};

struct MachineFacts {
  std::string kernel;  // "Linux 6.1.0 x86_64"
  SupervisionFacts supervision;
  Circumstances now;
  std::string no_gpu_because;  // empty where there is a driver
  std::string driver_version;
  std::vector<meter::GpuReading> gpus;
  std::vector<meter::EnergyZone> energy_zones;
  std::string uring_obstacle;  // empty where io_uring works
  DiskFacts disk;
  uint64_t most_locked_bytes = 0;  // ulimit -l
  uint64_t most_open_files = 0;    // ulimit -n, soft
  uint64_t hard_open_files = 0;
  std::string slurm_job;   // empty outside of one
  bool has_slurm = false;  // its commands are installed
};

// Takes about half a second, most of it for the disk of `folder`, where up to 64 MiB are written to
// a file without a name.
MachineFacts examine(const std::filesystem::path& folder,
                     const memory::Host& host = memory::Host::real());

}  // namespace plimsoll::diagnosis
