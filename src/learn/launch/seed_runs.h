// plimsoll train --seeds N: the same training with N seeds. Each seed has its own process and its
// own folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "recipe/recipe.h"

namespace plimsoll::launch {

// train_seeds() sets this variable for the trainings that it starts. They then do not print how to
// continue; train_seeds() does.
constexpr const char* kOfSeeds = "PLIMSOLL_OF_SEEDS";

struct SeedsOptions {
  uint64_t first = 0;  // --seed
  uint64_t count = 0;  // --seeds
  std::filesystem::path folder;
  bool resume = false;  // continue those that have begun
  bool force = false;
  bool quiet = false;           // do not name the seeds
  recipe::Recipe recipe;        // of the command line
  std::set<std::string> given;  // its fields that the user gave
  std::filesystem::path store;  // empty if it is not imported yet
};

// Throws Error{exists} if the folder holds seeds of another recipe or other data that would count
// in the same mean as the new ones; Error{usage} if a seed cannot be continued with what was given.
void check_same_training(const SeedsOptions& options);

// Repeats this process's own command line for each seed. Throws Error{exists} if a seed has been
// trained in the folder before, or as check_same_training(); ExitWith{code} if a training fails.
// With `force`, all seeds that were trained in the folder before are deleted, even those that this
// call does not train again.
void train_seeds(const SeedsOptions& options);

}  // namespace plimsoll::launch
