// From a command's options to the plan it runs by; shared by plan, train and predict.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "graph/store.h"
#include "launch/training_device.h"
#include "memory/limit.h"
#include "plan/plan.h"
#include "plan/probe.h"
#include "recipe/recipe.h"

namespace plimsoll::launch {

// The limit of a training: the flag where it is smaller than what was detected; without one, or
// with auto, what docs/memory.md says.
memory::Limit training_limit(const std::optional<uint64_t>& memory_bytes);

// Throws Error{input} where there is nothing to learn.
void check_trainable(const graph::Store& store, const recipe::Recipe& recipe);

// What is planned: a store, or a small graph that stands for one that is `scale` times as large.
struct Planned {
  const graph::Store& store;  // must outlive the planner
  double scale = 1;
  std::optional<plan::StoreShape> shape;  // of the large one
};

struct PlannerOptions {
  train::LaunchOptions run;
  TrainingDevice device;
  uint64_t limit_bytes = UINT64_MAX;  // measuring stays below it, too
  bool calibrate = false;             // measure the machine again
};

// What planning needs to know of a store and this machine. Reads a little of the store, for every
// fan-out asked for, and measures the machine the first time.
class Planner {
 public:
  Planner(Planned planned, const PlannerOptions& options);

  plan::Question question(const recipe::Recipe& recipe, uint64_t limit_bytes);
  const plan::Draws& draws(const recipe::Recipe& recipe);
  std::vector<plan::Remedy> remedies(const plan::Question& question);
  const plan::Machine& machine() const { return machine_; }

 private:
  plan::Draws draw(const recipe::Recipe& recipe, const plan::DrawBudget& budget);
  plan::DrawBudget draw_budget() const;

  const Planned planned_;
  const PlannerOptions options_;
  memory::Ledger ledger_;
  plan::Machine machine_;
  plan::StoreShape shape_;
  std::map<std::vector<uint32_t>, plan::Draws> draws_;
};

// What is missing, and what would lower it.
std::string explain_shortage(const plan::Plan& plan, const plan::Question& question,
                             const std::vector<plan::Remedy>& remedies);

// The plan of a run on this device; throws Error{memory} where it does not fit, with the least
// limit and, for a training, what would lower it.
plan::Plan plan_training(const graph::Store& store, const recipe::Recipe& recipe,
                         const PlannerOptions& options);
plan::Plan plan_prediction(const graph::Store& store, const recipe::Recipe& recipe,
                           const PlannerOptions& options, uint64_t output_bytes);

// What a run must be told so that it runs as planned.
train::LaunchOptions as_planned(train::LaunchOptions run, const plan::Plan& plan);

}  // namespace plimsoll::launch
