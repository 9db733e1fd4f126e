// How much memory this process may use: the smallest of what the user, the cgroups (v1 and v2,
// every level up the tree), a supervisor, Slurm and the machine allow. Pure, except for the files
// and variables it reads, which a test replaces through Host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/host.h"

namespace plimsoll::memory {

// A supervisor with a memory limit tells it to its command, as bytes: where no cgroup enforces the
// limit, the command cannot find it otherwise.
constexpr const char* kLimitVariable = "PLIMSOLL_MEMORY_LIMIT";
std::optional<uint64_t> supervisor_limit(const Host& host = Host::real());

struct LimitSource {
  std::string name;  // "RAM", "cgroup v2 /user.slice", "SLURM_MEM_PER_NODE"
  uint64_t bytes = 0;
  bool is_ram = false;
};

struct Limit {
  uint64_t bytes = 0;
  std::string winner;                // what set it, in words
  std::vector<LimitSource> sources;  // everything that was found, smallest first
  // The index of the source that has this size; nothing if --memory or a share of one set it.
  std::optional<size_t> source = {};

  // Whether something allows less than the machine has.
  bool below_ram() const { return !sources.empty() && !sources.front().is_ram; }
};

// What cgroups, a supervisor, Slurm and the machine allow, without --memory.
Limit detect_limit(const Host& host = Host::real());

// The limit of a command: the smaller of --memory and the detected limit. Without --memory, half of
// the detected limit.
Limit choose_limit(std::optional<uint64_t> flag_bytes, const Limit& detected);

// "8.0 GiB (--memory; RAM 23.5 GiB)"
std::string describe(const Limit& limit);

// The limit of a training with --memory auto: all that a cgroup or Slurm allows, because it belongs
// to this job; of the machine's RAM, what other programs do not need.

// Leaves the machine a share of its RAM and a little of the free memory; takes the smaller rest.
constexpr double kRamShare = 0.9;
constexpr uint64_t kLeftFreeBytes = uint64_t{256} << 20;

Limit automatic_limit(const Host& host = Host::real());

}  // namespace plimsoll::memory
