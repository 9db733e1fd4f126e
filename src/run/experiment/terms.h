// The terms of an experiment: limits, retries, and what counts as success. They can be set in the
// model config (for a repository), at the top of the settings, and in an entry. The later one wins,
// key by key.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/verdict.h"
#include "experiment/json_reader.h"
#include "experiment/metrics.h"
#include "experiment/stop_rule.h"

namespace plimsoll::experiment {

using diagnosis::Cause;

// "shrink": {"batch_size": 0.5, "min": 16}: which parameter to reduce after an attempt ran out of
// memory.
struct Shrink {
  std::string parameter;
  double factor = 0.5;
  double least = 1;
};

// What success requires besides exit code 0.
struct Expectation {
  std::vector<std::string> metrics;  // must be found in the log
  double least_seconds = 0;
  std::vector<std::string> must_match;  // regular expressions; each must match a line of the log
  std::vector<std::string> must_not_match;
};

struct Terms {
  std::optional<double> timeout_seconds;
  std::optional<double> idle_seconds;
  std::optional<uint64_t> memory_bytes;
  std::optional<uint64_t> gpu_free_bytes;
  std::optional<std::vector<Cause>> retry_on;  // replaces the default policy
  std::optional<Shrink> shrink;
  std::optional<uint64_t> background_runs;  // a background load is started at most this often
  std::map<std::string, std::string> environment;
  std::optional<Expectation> expect;
  std::optional<Objective> objective;
  std::optional<StopRule> stop;  // of experiments that are no baseline
};

Terms read_terms(ObjectReader& object);

// One message for each metric in `expect` that has no pattern: "expect: log_patterns has no pattern
// for the metric acc; did you mean accuracy?".
std::vector<std::string> metrics_without_pattern(const Expectation& expect,
                                                 const std::vector<MetricPattern>& patterns);

// Why the objective or the early stopping cannot work, with the terms of all levels: there is no
// pattern, or no objective. Nothing if they can.
std::optional<std::string> obstacle_of_stopping(const Terms& terms,
                                                const std::vector<MetricPattern>& patterns);

// Combines two: a term that `over` sets wins.
Terms merged(const Terms& under, const Terms& over);

}  // namespace plimsoll::experiment
