// Reads an entry of the settings: what to train (repository, model, varied and fixed parameters),
// and which settings its experiments have (choices, grid, list, design, exclude, only_if). Shared
// by plain entries, both sides of a parallel entry, and the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/catalog.h"
#include "experiment/design.h"
#include "experiment/json_reader.h"
#include "experiment/settings.h"

namespace plimsoll::experiment {

enum class Mode {
  mutation,
  standard,
  parallel,
  nonparallel,  // at the top level only: mutation or standard, by the other keys of each entry
};

// Reads `mode`, with its old names and values. Returns `otherwise` if it is missing. Reports an
// unknown value and returns nothing. Returns `nonparallel` only if `otherwise` is.
std::optional<Mode> read_mode(ObjectReader& object, Mode otherwise);
void say_nonparallel(ObjectReader& object);

// "epochs, seed": two names.
std::vector<std::string> names_between_commas(const std::string& text);

// Reads `runs_per_config`, also by its old name.
std::optional<uint64_t> read_runs(ObjectReader& object);

// Reads what to train. Returns nothing if something is wrong, and reports it. `other_seeds`:
// nuisances such as a seed are not drawn, because each repeat gets its own.
std::optional<Training> read_training(ObjectReader& object, Mode mode, const Catalog& catalog,
                                      bool other_seeds = false);

// Checks that repository, model and parameters exist and that the parameters can be varied. Reports
// errors at `line`. An empty model is `default`, or the only one.
struct TrainingPlace {
  std::string file;
  size_t line = 0;
};
bool check_training(Training& training, const Catalog& catalog, const TrainingPlace& place,
                    Problems& problems, bool other_seeds = false);

// Each member of the object is a condition:
// {"optimizer": "sgd", "epochs": [5, 10], "learning_rate": {"min": 0.1}}.
Conditions read_conditions(ObjectReader& object, const Repository& repository);

// Whether an entry has a key that lists its settings, so that it needs no mode.
bool lists_settings(const ObjectReader& object);

// Reads the keys that choose the settings. `repository` is null if it is unknown; then the keys are
// only marked as known.
Design read_design(ObjectReader& object, const Repository* repository);

}  // namespace plimsoll::experiment
