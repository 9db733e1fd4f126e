// Makes the plan of a run from a command's options; used by plan, train and predict.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "graph/store.h"
#include "launch/training_device.h"
#include "memory/limit.h"
#include "plan/plan.h"
#include "plan/probe.h"
#include "plan/remedies.h"
#include "recipe/recipe.h"

namespace plimsoll::launch {

// The memory limit of a training run: that of --memory if it is smaller than the detected limit;
// without --memory, or with auto, as docs/reference/memory.md describes.
memory::Limit training_limit(const std::optional<uint64_t>& memory_bytes);

// The limit to plan with: it may be more than this machine has, unlike the limit of a training.
memory::Limit planned_limit(const std::optional<uint64_t>& memory_bytes);

// Throws Error{input} if the store has nothing to learn from.
void check_trainable(const graph::Store& store, const recipe::Recipe& recipe);

// What is planned: a store, or a small graph that represents one `scale` times as large.
struct Planned {
  const graph::Store& store;  // must outlive the planner
  double scale = 1;
  std::optional<plan::StoreShape> shape;  // of the large graph
};

struct PlannerOptions {
  train::Execution run;
  TrainingDevice device;
  uint64_t limit_bytes = UINT64_MAX;  // also for measuring the machine
  bool calibrate = false;             // measure the machine again
  unsigned ranks = 1;                 // processes that cut every batch among them
  unsigned host_ranks = 1;            // those of this host, which share the limit
};

// What a training may take of a GPU. `note` says so if that is less than the user may expect.
struct GpuShare {
  uint64_t bytes = 0;  // 0 = not known
  std::string note;
};
GpuShare gpu_share(const TrainingDevice& device, const std::optional<uint64_t>& asked_bytes);

// Collects what planning needs to know about a store and this machine. Samples a few neighbourhoods
// from the store for every fan-out, and measures the machine if no earlier run has done so.
class Planner {
 public:
  Planner(Planned planned, const PlannerOptions& options);

  // Plans a prediction of this many nodes.
  void ask_for(uint64_t nodes) { shape_.asked_nodes = nodes; }
  plan::Question question(const recipe::Recipe& recipe, uint64_t limit_bytes);
  const plan::Draws& draws(const recipe::Recipe& recipe);
  std::vector<plan::Remedy> remedies(const plan::Question& question);
  const plan::Machine& machine() const { return machine_; }

 private:
  plan::Draws draw(const recipe::Recipe& recipe, const plan::DrawBudget& budget);
  plan::DrawBudget draw_budget() const;
  const std::string& gpu_problem(const recipe::Recipe& recipe);

  const Planned planned_;
  const PlannerOptions options_;
  const GpuShare gpu_share_;
  memory::Ledger ledger_;
  plan::Machine machine_;
  plan::StoreShape shape_;
  std::optional<std::string> gpu_problem_;  // for the first recipe: others compile no other code
  // By fan-out, and whether the training nodes are fewer than a batch.
  std::map<std::pair<std::vector<uint32_t>, bool>, plan::Draws> draws_;
};

// Throws Error if the user gave --gpu-memory, and the plan cannot keep to it.
void check_gpu_memory(const train::Execution& run, const plan::Plan& plan);

// The text of the error if a plan does not fit: what is missing and what would help.
std::string explain_shortage(const plan::Plan& plan, const plan::Question& question,
                             const std::vector<plan::Remedy>& remedies);

// The plan of a run on this device. Throws Error{memory} if it does not fit, with the least limit
// and, for training, options that would lower it.
plan::Plan plan_training(const graph::Store& store, const recipe::Recipe& recipe,
                         const PlannerOptions& options);
plan::Plan plan_prediction(const graph::Store& store, const recipe::Recipe& recipe,
                           const PlannerOptions& options, uint64_t nodes, uint64_t output_bytes);

// The launch options with the planned device.
train::Execution as_planned(train::Execution run, const plan::Plan& plan);

}  // namespace plimsoll::launch
