// The experiments of earlier batches, from their summary tables.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/json_reader.h"
#include "experiment/values.h"

namespace plimsoll::experiment {

struct PastRun {
  std::string repository;
  std::string model;
  bool parallel = false;
  std::map<std::string, Value> values;  // those in the row; the others had their defaults
  bool success = false;
  std::optional<double> seconds;
};

// Reads the columns repository, model and hyperparam_*, and training_success and duration_seconds
// if they exist. A run is parallel by its column `mode` or by the end of its id.
std::vector<PastRun> read_history(std::string_view text, const std::string& file,
                                  Problems& problems);

// The complete combination of the run: its values, and `defaults` for the others.
Values values_of(const PastRun& run, const Values& defaults);

}  // namespace plimsoll::experiment
