// Reads the keys of an entry that choose its settings: choices, grid, list, design, exclude,
// only_if.
#pragma once

#include "experiment/catalog.h"
#include "experiment/design.h"
#include "experiment/json_reader.h"

namespace plimsoll::experiment {

// Each member of the object is a condition:
// {"optimizer": "sgd", "epochs": [5, 10], "learning_rate": {"min": 0.1}}.
Conditions read_conditions(ObjectReader& object, const Repository& repository);

// Whether an entry has a key that lists its settings, so that it needs no mode.
bool lists_settings(const ObjectReader& object);

// `repository` is null if it is unknown; then the keys are only marked as known.
Design read_design(ObjectReader& object, const Repository* repository);

}  // namespace plimsoll::experiment
