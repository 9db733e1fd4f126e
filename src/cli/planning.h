// From a command's options to the plan it runs by; shared by plan, train and predict.
#pragma once

#include <map>
#include <vector>

#include "cli/running.h"
#include "graph/store.h"
#include "memory/limit.h"
#include "plan/draw.h"
#include "plan/plan.h"
#include "plan/remedy.h"
#include "recipe/recipe.h"

namespace plimsoll::cli {

// The limit of a training: the flag where it is smaller than what was detected; without one, or
// with auto, what docs/memory.md says.
memory::Limit training_limit(const RunningOptions& options);

// Throws Error{input} where there is nothing to learn.
void check_trainable(const graph::Store& store, const recipe::Recipe& recipe);

// What planning needs to know of a store and this machine. Reads a little of the store, for every
// fan-out asked for, and measures the machine the first time, or again with `calibrate`. The store
// must outlive it.
class Planner {
 public:
  Planner(const graph::Store& store, const train::RunOptions& run, bool calibrate = false);

  plan::Question question(const recipe::Recipe& recipe, uint64_t limit_bytes);
  const plan::Draws& draws(const recipe::Recipe& recipe);
  std::vector<plan::Remedy> remedies(const plan::Question& question);

 private:
  uint64_t affordable_reads() const;

  const graph::Store& store_;
  const train::RunOptions run_;
  memory::Ledger ledger_;
  plan::Machine machine_;
  plan::StoreShape shape_;
  std::map<std::vector<uint32_t>, plan::Draws> draws_;
};

// What is missing, and what would lower it.
std::string explain_shortage(const plan::Plan& plan, const plan::Question& question,
                             const std::vector<plan::Remedy>& remedies);

// The plan of a run; throws Error{memory} where it does not fit, with the least limit and, for a
// training, what would lower it.
plan::Plan plan_training(const graph::Store& store, const recipe::Recipe& recipe,
                         const train::RunOptions& run, uint64_t limit_bytes);
struct PredictionRoom {
  uint64_t limit_bytes = 0;
  uint64_t output_bytes = 0;  // to put the output in order
};
plan::Plan plan_prediction(const graph::Store& store, const recipe::Recipe& recipe,
                           const train::RunOptions& run, const PredictionRoom& room);

// The plan as part of the opening; nothing when quiet.
void say_plan(const RunningOptions& options, const plan::Plan& plan);

}  // namespace plimsoll::cli
