// Experiments, attempts and results as JSON: in the journal, and in the files that users' scripts
// read.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "energy/report.h"
#include "experiment/queue.h"
#include "experiment/terms.h"

namespace plimsoll::experiment {

// How one attempt ended.
struct AttemptResult {
  Cause cause = Cause::driver_ended;  // until its end is seen
  std::string headline;               // of the verdict, or what was unmet
  std::string evidence;
  std::string next_step;
  std::string after;  // what the retry policy made of it
  int exit_code = 0;
  double started = 0;  // seconds since the epoch
  double seconds = 0;
  double cpu_seconds = 0;
  uint64_t peak_bytes = 0;
  Values values;
  std::map<std::string, Value> metrics;
  std::vector<std::string> missing_metrics;
  size_t background_runs = 0;
  std::shared_ptr<const energy::EnergyReport> energy;  // none where it was not measured
  // The driver was stopped or killed meanwhile: it says nothing about the experiment.
  bool counts = true;
};

struct ExperimentResult {
  bool success = false;
  unsigned retries = 0;
  std::string suspicious;  // why; empty where nothing is
  AttemptResult last;
};

// What reads them back throws Error{input} where the text is none of ours.
std::string to_text(const Experiment& experiment);
Experiment experiment_of(const std::string& text);
std::string to_text(const AttemptResult& result);
AttemptResult attempt_of(const std::string& text);
std::string to_text(const ExperimentResult& result);
ExperimentResult result_of(const std::string& text);

// As users' scripts read them: 3e-05 as a number, inf and nan, which JSON has not, as texts.
nlohmann::ordered_json plain_json(const Values& values);
nlohmann::ordered_json plain_json(const std::map<std::string, Value>& metrics);

// "2026-11-15T08:15:00", local time.
std::string iso_time(double seconds_since_epoch);

}  // namespace plimsoll::experiment
