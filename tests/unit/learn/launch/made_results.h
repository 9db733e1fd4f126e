// results.json of a training that never ran, for tests that read results.
#pragma once

#include <nlohmann/json.hpp>

#include "recipe/recipe.h"

namespace plimsoll::launch {

// Of this recipe, with 0.5 and 0.25 as accuracies and an empty series.
inline nlohmann::ordered_json made_results(const recipe::Recipe& recipe) {
  return {{"dataset", "cora"},
          {"status", "finished"},
          {"device", "cpu"},
          {"timestamp", "2026-11-15T08:15:00+00:00"},
          {"num_params", 10},
          {"best_epoch", 1},
          {"train_acc", nullptr},
          {"valid_acc", 0.5},
          {"test_acc", 0.25},
          {"training_time", 3.5},
          {"peak_memory_bytes", 1000},
          {"recipe", recipe::to_json(recipe)},
          {"series", nlohmann::ordered_json::array()}};
}

}  // namespace plimsoll::launch
