// The steps of `plimsoll train` before and around the training itself: what can be refused, the
// save folder, the plan, and the call of the training library.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "graph/store.h"
#include "launch/running.h"
#include "memory/limit.h"
#include "ranks/group.h"
#include "recipe/recipe.h"
#include "track/step_log.h"

namespace plimsoll::launch {

struct TrainRequest {
  std::filesystem::path store;      // either this ...
  std::filesystem::path data_root;  // ... or this
  recipe::Recipe recipe;
  recipe::RecipeFields given;  // that the user gave
  std::filesystem::path save_dir = "models";
  std::filesystem::path resume;  // empty: a new run; else the same as save_dir
  bool force = false;
  uint64_t save_every = 0;
  double checkpoint_minutes = 30;
  std::filesystem::path memory_log;
  track::LogKinds logs;  // to write beside the checkpoints
  RunningOptions running;
  std::string repeated_options;  // of the command line, for the command that continues the run
};

// Throws Error{usage} if the user gave an option that this model does not have.
void check_for_model(const recipe::Recipe& recipe, const recipe::RecipeFields& given);

// Everything that can be refused before the plan. Imports the data set of --data_root if there is
// no store of it yet, and sets `request.store`.
graph::Store open_for_training(TrainRequest& request);

// The same for a rank that writes nothing and does not need the save folder.
graph::Store open_on_other_rank(TrainRequest& request);

// Reads the recipe of the run to continue, if it is one. Throws Error if it cannot be trained on
// this store.
void settle_recipe(const graph::Store& store, TrainRequest& request);

// The plan, on the device that torch can use.
plan::Plan plan_for(const TrainRequest& request, const PlanFor& what);

// Prints store, model and limit.
void say_opening(const TrainRequest& request, const graph::Store& store,
                 const memory::Limit& limit);

// Trains. Returns the signal that stopped the training, or 0 if it ended by itself.
int run_training(const TrainRequest& request, const graph::Store& store, const plan::Plan& plan,
                 ranks::Group* group);

// The command line that continues this run, quoted for a shell. The checkpoint keeps the recipe, so
// only other options are repeated.
std::string continuing_command(const TrainRequest& request);

[[noreturn]] void fail_stopped(const TrainRequest& request, int signal_number);

}  // namespace plimsoll::launch
