// The input of a plan, all as values: a store, a recipe, the expected batches of that recipe on
// that store, and the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/footprint.h"
#include "plan/machine.h"
#include "plan/probe.h"
#include "recipe/recipe.h"

namespace plimsoll::plan {

// For a loader: another program computes with the batches. Nothing but batches is held; they also
// exist in the form of batch/flat.h.
struct Loading {
  unsigned held = 2;          // batches that the other program may have at the same time
  uint64_t tables_bytes = 0;  // of ids and labels, which are in memory as a whole
};

struct Question {
  StoreShape store;
  recipe::Recipe recipe;
  Probe probe;  // the expected batch of a rank: of own_seeds(recipe.batch_size)
  uint64_t limit_bytes = 0;
  uint64_t runtime_bytes = 0;
  unsigned threads = 1;
  unsigned workers = 0;           // 0 = the plan chooses
  unsigned window = 0;            // 0 = the plan chooses
  bool gpu = false;               // a GPU computes; `machine.step` then has its rates
  uint64_t gpu_memory_bytes = 0;  // the most that may be taken of it; 0 = not known
  std::string gpu_problem = {};   // why it cannot make batches, whatever the recipe; empty = it can
  // Ranks are processes that cut every batch among them. Those of one host share the lines, and the
  // limit is for all of them together; threads and workers are each rank's.
  unsigned ranks = 1;
  unsigned host_ranks = 1;
  Machine machine;
  std::optional<Loading> loading = {};
  // Of a training or a prediction: what it keeps of its epochs, and what reading a checkpoint
  // takes, while there are no batches.
  uint64_t epochs_bytes = 0;
  uint64_t checkpoint_bytes = 0;

  Work work() const { return {store, recipe, probe}; }
  // The most seeds of such a batch that one rank gets.
  uint64_t own_seeds(uint64_t batch_size) const { return (batch_size + ranks - 1) / ranks; }
  uint64_t batches() const {  // per epoch
    const uint64_t size = recipe.batch_size == 0 ? 1 : recipe.batch_size;
    return store.train_nodes / size + (store.train_nodes % size == 0 ? 0 : 1);
  }
};

}  // namespace plimsoll::plan
