// What a plan is asked: a store, a recipe, how its batches look on that store, and what there is to
// run it on. All of it values.
#pragma once

#include <cstdint>

#include "plan/footprint.h"
#include "plan/machine.h"
#include "plan/probe.h"
#include "plan/shape.h"
#include "recipe/recipe.h"

namespace plimsoll::plan {

struct Question {
  StoreShape store;
  recipe::Recipe recipe;
  Probe probe;  // of batches of recipe.batch_size
  uint64_t limit_bytes = 0;
  uint64_t runtime_bytes = 0;
  unsigned threads = 1;
  unsigned workers = 0;  // 0 = chosen
  unsigned window = 0;   // 0 = chosen
  bool gpu = false;      // computes; `machine.step` is then the GPU's
  Machine machine;

  Work work() const { return {store, recipe, probe}; }
  uint64_t batches() const {  // an epoch
    const uint64_t size = recipe.batch_size == 0 ? 1 : recipe.batch_size;
    return store.train_nodes / size + (store.train_nodes % size == 0 ? 0 : 1);
  }
};

}  // namespace plimsoll::plan
