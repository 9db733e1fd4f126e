// The files that the tests of this room read.
#pragma once

#include <string>

#include "experiment/catalog.h"
#include "experiment/json_reader.h"

namespace plimsoll::experiment {

inline constexpr const char* kModels = R"json({"models": {
  "examples": {"path": "repos/examples", "train_script": "./train.sh", "models": ["mnist", "ff"],
    "model_flag": "-n", "required_args": {"dataset": "-d 'two words'"},
    "supported_hyperparams": {
      "epochs": {"flag": "-e", "type": "int", "default": 10, "range": [5, 15]},
      "learning_rate": {"flag": "--lr", "type": "float", "default": 3e-5,
        "range": [1.5e-5, 4.5e-5], "distribution": "log_uniform"},
      "seed": {"flag": "--seed", "type": "int", "default": null, "range": [0, 9999]}},
    "performance_metrics": {"log_patterns": {"loss": "loss:\\s*([0-9.]+)"}}},
  "plain": {"path": "repos/plain", "train_script": "python train.py", "models": ["default"],
    "supported_hyperparams": {"width": {"flag": "-w", "type": "int", "default": 2,
      "range": [1, 4], "zero_probability": 0.5}}}}})json";

inline Catalog example_catalog() {
  Problems problems;
  return read_catalog(kModels, "models.json", problems);
}

inline std::string all_of(const Problems& problems) {
  std::string text;
  for (const Problem& problem : problems.all()) text += describe(problem) + "\n";
  return text;
}

}  // namespace plimsoll::experiment
