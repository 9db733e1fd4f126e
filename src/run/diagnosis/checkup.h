// `plimsoll doctor`: what plimsoll can guarantee on this machine. examine() reads the facts, and
// check_up() judges them, point by point, with a remedy for each weakness.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host.h"
#include "diagnosis/circumstances.h"
#include "meter/cpu_power.h"
#include "meter/gpu.h"
#include "process/tree.h"
#include "slurm/job.h"

namespace plimsoll::diagnosis {

struct LevelFact {
  process::Level level = process::Level::sweep;
  std::string obstacle;  // empty if it works
};

struct SupervisionFacts {
  bool pidfds = false;
  std::vector<LevelFact> levels;  // the strongest first
  process::Level in_force = process::Level::sweep;
  std::string memory_group;     // "cgroup v2"; empty if no group can limit a command's memory
  std::string memory_obstacle;  // why no group can
};

struct DiskFacts {
  std::filesystem::path folder;
  std::optional<Space> space;
  std::string unmeasured_because;
  double write_bytes_per_second = 0;
  double read_bytes_per_second = 0;
  bool past_the_cache = false;  // measured with O_DIRECT, without the page cache
};

struct MachineFacts {
  std::string kernel;  // "Linux 6.1.0 x86_64"
  SupervisionFacts supervision;
  Circumstances now;
  std::string no_gpu_because;  // empty if there is a driver and it can be read
  std::string driver_version;
  std::vector<meter::GpuReading> gpus;
  std::vector<meter::EnergyZone> energy_zones;
  std::string uring_obstacle;  // empty if io_uring works
  DiskFacts disk;
  uint64_t most_locked_bytes = 0;  // ulimit -l
  uint64_t most_open_files = 0;    // ulimit -n, soft
  uint64_t hard_open_files = 0;
  std::optional<slurm::OwnJob> slurm_job;  // nothing outside a job
  bool has_slurm = false;                  // Slurm's commands are installed
  bool has_scontrol = false;
};

// Takes about half a second, mostly for measuring the disk of `folder`: it writes up to 64 MiB to a
// file without a name.
MachineFacts examine(const std::filesystem::path& folder, const Host& host = Host::real());

enum class Health {
  good,
  limited,  // it works, with a weaker guarantee
  bad,      // it does not work, or it will make runs fail
};
std::string_view name(Health health);

struct Check {
  std::string subject;  // "memory limit"
  Health health = Health::good;
  std::string state;
  std::string remedy;  // empty if there is nothing to improve
};

// Pure.
std::vector<Check> check_up(const MachineFacts& facts);

// One line per check, and one more for its remedy; `colours` adds terminal escape sequences.
std::string describe(const std::vector<Check>& checks, bool colours);
nlohmann::ordered_json to_json(const std::vector<Check>& checks);

}  // namespace plimsoll::diagnosis
