// Experiments, attempts and results as JSON, for the journal and for the files that users' scripts
// read.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "energy/report.h"
#include "experiment/queue.h"
#include "experiment/terms.h"

namespace plimsoll::experiment {

// How one attempt ended.
struct AttemptResult {
  Cause cause = Cause::driver_ended;  // until its end is known
  std::string headline;               // of the verdict, or the expectation that was not met
  std::string evidence;
  std::string next_step;
  std::string after;  // the decision of the retry policy
  int exit_code = 0;
  double started = 0;  // seconds since the epoch
  double seconds = 0;
  double cpu_seconds = 0;
  uint64_t peak_bytes = 0;
  Values values;
  std::map<std::string, Value> metrics;
  std::vector<std::string> missing_metrics;
  size_t background_runs = 0;
  std::shared_ptr<const energy::EnergyReport> energy;  // null if it was not measured
  // False if the attempt says nothing about the experiment, because the driver was stopped or
  // killed meanwhile, or because the experiment was reopened.
  bool counts = true;
  uint64_t steps = 0;  // how often the metric of the objective was reported
  std::optional<StopRecord>
      stop;           // if it was stopped early; then the metrics are those of the step
  size_t shared = 0;  // the most attempts of this batch that ran beside it at a time
};

struct ExperimentResult {
  bool success = false;
  unsigned retries = 0;
  std::string suspicious;  // the reason; empty if nothing is suspicious
  AttemptResult last;
};

// An experiment that was stopped early did not fail.
bool failed(const ExperimentResult& result);

// The functions that parse a text throw Error{input} if to_text() did not write it.
std::string to_text(const Experiment& experiment);
Experiment experiment_of(const std::string& text);
std::string to_text(const AttemptResult& result);
AttemptResult attempt_of(const std::string& text);
std::string to_text(const ExperimentResult& result);
ExperimentResult result_of(const std::string& text);

// For users' scripts: 3e-05 as a number; inf and nan, which JSON does not have, as strings.
nlohmann::ordered_json plain_json(const Values& values);
nlohmann::ordered_json plain_json(const std::map<std::string, Value>& metrics);

// "2026-11-15T08:15:00", local time.
std::string iso_time(double seconds_since_epoch);

}  // namespace plimsoll::experiment
