// The part of an entry that says what to train: repository, model, what is varied and what is
// fixed. Shared by plain entries, the two sides of a parallel one, and the command line.
#pragma once

#include <optional>
#include <string>

#include "experiment/catalog.h"
#include "experiment/json_reader.h"
#include "experiment/settings.h"

namespace plimsoll::experiment {

enum class Mode { mutation, standard, parallel };

// `mode` with its former names and words; nothing, and an error, for a word that is none. Where
// nothing is said, `otherwise`.
std::optional<Mode> read_mode(ObjectReader& object, Mode otherwise);

// `runs_per_config` with its former name.
std::optional<uint64_t> read_runs(ObjectReader& object);

// Nothing where something is wrong; that is reported.
std::optional<Training> read_training(ObjectReader& object, Mode mode, const Catalog& catalog);

// Whether repository, model and parameters exist and can be varied; reports at `line`.
bool check_training(Training& training, const Catalog& catalog, const std::string& file,
                    size_t line, Problems& problems);

}  // namespace plimsoll::experiment
