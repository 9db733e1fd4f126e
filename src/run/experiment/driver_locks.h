// What a driver of a batch has for itself: its run folder, and its GPUs, for two batches on one GPU
// would spoil each other's figures. A second driver is refused, or waits.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "experiment/journal.h"

namespace plimsoll::experiment {

struct Waiting {
  bool wait = false;
  std::function<void(const std::string&)> say;  // that it waits, and for what
};

// Throws Error{exists} where somebody else has it and nobody wants to wait. `what` names it.
experiment::RunLock take_lock(const std::filesystem::path& file, const std::string& what,
                              const Waiting& waiting);

struct GpuClaim {
  std::string gpus;  // for exec's --gpu; empty where there are none
  std::vector<experiment::RunLock> locks;
};

// Of the GPUs that `gpus` names, as exec's --gpu; empty: all that there are.
GpuClaim claim_gpus(const std::string& gpus, const Waiting& waiting);

}  // namespace plimsoll::experiment
