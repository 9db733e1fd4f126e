// The steps of `plimsoll predict` before and around the prediction itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "graph/store.h"
#include "launch/running.h"
#include "memory/limit.h"
#include "ranks/group.h"
#include "recipe/recipe.h"

namespace plimsoll::launch {

struct PredictRequest {
  std::filesystem::path store;
  std::filesystem::path checkpoint;
  train::PredictedNodes split = train::PredictedNodes::test;
  train::Output output = train::Output::classes;
  std::optional<recipe::Evaluation> evaluation;  // nothing: as in training
  std::filesystem::path out;
  std::filesystem::path ids_out;  // empty: not written
  bool force = false;
  RunningOptions running;
};

// Throws Error if the checkpoint cannot be read or an output cannot be written.
void check_files(const PredictRequest& request);

// The number of rows of the output; Error{input} if there are none.
uint64_t count_nodes(const PredictRequest& request, const graph::Store& store);

// The model's recipe, with the evaluation that is asked for. Throws Error{input} if the store's
// rows are not the model's.
recipe::Recipe read_recipe(const PredictRequest& request, const graph::Store& store);

// Throws Error{usage} if ranks would compute something else than one process.
void check_prediction_for_ranks(const recipe::Recipe& recipe, unsigned ranks);

plan::Plan plan_for(const PredictRequest& request, const recipe::Recipe& recipe,
                    const PlanFor& what);

// The limit of this process's ledger.
uint64_t ledger_bytes_for(const PredictRequest& request, const graph::Store& store,
                          const recipe::Recipe& recipe, const plan::Plan& plan,
                          const ranks::Group& group);

// Prints store, model, number of nodes and limit.
void say_opening(const PredictRequest& request, const graph::Store& store,
                 const memory::Limit& limit);

struct PredictionRun {
  const graph::Store& store;
  const plan::Plan& plan;
  recipe::Evaluation evaluation = recipe::Evaluation::sampled;
  memory::Ledger& ledger;
  ranks::Group* group = nullptr;  // null: this process predicts alone
};
void run_prediction(const PredictRequest& request, const PredictionRun& run);

}  // namespace plimsoll::launch
