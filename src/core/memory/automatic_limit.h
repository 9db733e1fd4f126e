// The limit of a training that was given none (--memory auto): all that a cgroup or Slurm allows,
// for that is there for this job alone; of the machine's memory, what others can do without.
#pragma once

#include "memory/limit.h"

namespace plimsoll::memory {

// Of RAM, a share stays with the machine, and of what is free now, a little: the smaller rest.
constexpr double kRamShare = 0.9;
constexpr uint64_t kLeftFreeBytes = uint64_t{256} << 20;

Limit automatic_limit(const Host& host = Host::real());

}  // namespace plimsoll::memory
