// plimsoll train --seeds N: the same training with N seeds, each by a process and in a folder of
// its own.
#pragma once

#include <cstdint>
#include <filesystem>

namespace plimsoll::launch {

// A variable of the trainings that train_seeds() starts: it says how to continue, they do not.
constexpr const char* kOfSeeds = "PLIMSOLL_OF_SEEDS";

struct SeedsOptions {
  uint64_t first = 0;  // --seed
  uint64_t count = 0;  // --seeds
  std::filesystem::path folder;
  bool resume = false;  // continue those that have begun
  bool force = false;
};

// Repeats this process's own command line for each seed. Throws Error{exists} if a seed has been
// trained in the folder before, ExitWith{code} if a training fails. With `force`, seeds that were
// trained in the folder before are deleted, those that are not trained now as well.
void train_seeds(const SeedsOptions& options);

}  // namespace plimsoll::launch
