// The queue of a batch: every experiment with its id and its values, fixed before the first one
// starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/history.h"
#include "experiment/settings.h"

namespace plimsoll::experiment {

struct Load {
  std::string repository;
  std::string model;
  Values values;
};

struct Experiment {
  size_t number = 0;    // from 1, in the order in which they run
  std::string id;       // unique across runs: "run_20261115_081500__examples_mnist_001"
  std::string folder;   // in the run's folder: "examples_mnist_001"; a long name is shortened
  bool varied = false;  // its values are not only the defaults
  Load training;
  std::optional<Load> background;
  size_t entry = 0;  // index in the settings; experiments of one entry are comparable
  // Identifies what is compared: training, background load and values, without nuisances such as a
  // seed. "toy/good: epochs=3 learning_rate=3e-05". The same text in every run.
  std::string configuration;
  size_t repeat = 1;      // from 1, within its configuration
  size_t listed = 0;      // its place before the order was changed, from 1; 0 of a warm-up
  bool warmup = false;    // does not count
  bool baseline = false;  // asked for by baseline_runs
};

// What its files call it: "mutation" or "default", and "parallel" with a background load.
std::string_view mode_word(const Experiment& experiment);

// The `configuration` of an experiment.
std::string configuration_of(const Experiment& experiment, const Catalog& catalog);

// Sets `configuration` and `repeat` of experiments from a journal of version 0.1, which has none.
void complete_queue(std::vector<Experiment>& queue, const Catalog& catalog);

// Sets the ids, which start with the run's name.
void name_experiments(std::vector<Experiment>& queue, const std::string& run);

// Warns of an entry that asks for more combinations than are left.
std::vector<Experiment> make_queue(const Settings& settings, const Catalog& catalog,
                                   const std::vector<PastRun>& history, uint64_t seed,
                                   Problems& problems);

// Each entry with its number of experiments, and the total.
std::string describe_plan(const Settings& settings, const std::vector<Experiment>& queue);

}  // namespace plimsoll::experiment
