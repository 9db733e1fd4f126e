// plimsoll train --seeds N: the same training with N seeds. Each seed has its own process and its
// own folder.
#pragma once

#include <cstdint>

#include "launch/training_run.h"

namespace plimsoll::launch {

// train_seeds() sets this variable for the trainings that it starts. They then do not print how to
// continue; train_seeds() does.
constexpr const char* kOfSeeds = "PLIMSOLL_OF_SEEDS";

// Both are about `count` trainings like `request`, with the seeds from its recipe's on. Each has
// its folder in request.save_dir.

// Throws Error{exists} if that folder holds seeds of another recipe or other data that would count
// in the same mean as the new ones; Error{usage} if a seed cannot be continued with what was given.
void check_same_training(const TrainRequest& request, uint64_t count);

// Repeats this process's own command line for each seed. Throws Error{exists} if a seed has been
// trained in the folder before, or as check_same_training(); ExitWith{code} if a training fails.
// With --force, all seeds that were trained in the folder before are deleted, even those that this
// call does not train again.
void train_seeds(const TrainRequest& request, uint64_t count);

}  // namespace plimsoll::launch
