// Experiment settings may be any text: they are Problems, an Error, or a queue of experiments that
// the journal keeps.
#include <string>

#include "experiment/queue.h"
#include "experiment/record.h"
#include "experiment/settings.h"
#include "only_errors.h"

namespace {

constexpr const char* kModels = R"json({"models": {
  "toy": {"path": "toy", "train_script": "./train.sh", "models": ["linear", "small", "large"],
    "supported_hyperparams": {
      "epochs": {"flag": "-e", "type": "int", "default": 10, "range": [5, 15]},
      "learning_rate": {"flag": "--lr", "type": "float", "default": 3e-5,
        "range": [1.5e-5, 4.5e-5], "distribution": "log_uniform"},
      "optimizer": {"flag": "-o", "type": "text", "default": "adam", "choices": ["adam", "sgd"]},
      "momentum": {"flag": "-m", "default": 0.9, "only_if": {"optimizer": "sgd"}},
      "amp": {"flag": "-a", "type": "switch", "default": false},
      "seed": {"flag": "-s", "type": "int", "default": null, "range": [0, 18446744073709551615],
        "zero_probability": 0.5}},
    "performance_metrics": {"log_patterns": {"loss": "loss: ([0-9.]+)"}}}}})json";
constexpr uint64_t kMostExperiments = 100;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  using namespace plimsoll::experiment;
  static const Catalog catalog = [] {
    Problems none;
    return read_catalog(kModels, "models.json", none);
  }();
  only_errors([&] {
    Problems problems(size % 2 == 0 ? KeyPolicy::lenient : KeyPolicy::strict);
    const Settings settings =
        read_settings(text_of_input(data, size), "settings.json", catalog, problems);
    for (const ProblemGroup& group : problems.grouped()) describe(group);
    uint64_t experiments = settings.warmup;
    for (const SettingsEntry& entry : settings.entries) {
      const Design& design = entry.foreground.design;
      const uint64_t all = design.list.size() +
                           grid_size(design.grid, kMostExperiments).value_or(kMostExperiments + 1);
      experiments += entry.runs.value_or(all) * entry.repeats + entry.baseline_runs + all;
    }
    if (experiments > kMostExperiments) return;
    for (const Experiment& made : make_queue(settings, catalog, {}, 42, problems)) {
      const std::string text = to_text(made);
      if (to_text(experiment_of(text)) != text) __builtin_trap();
      training_command(*catalog.find(made.training.repository), made.training.model,
                       made.training.values);
    }
  });
  return 0;
}
