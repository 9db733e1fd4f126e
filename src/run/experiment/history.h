// What earlier batches ran already, from their summary tables.
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
  std::map<std::string, Value> values;  // what the row holds; the others had their defaults
  bool success = false;
  std::optional<double> seconds;
};

// Columns repository, model, hyperparam_*, and where they are there training_success and
// duration_seconds; parallel by a column `mode`, or by the id's ending.
std::vector<PastRun> read_history(std::string_view text, const std::string& file,
                                  Problems& problems);

// The combination that a run with these `defaults` had.
Values values_of(const PastRun& run, const Values& defaults);

}  // namespace plimsoll::experiment
