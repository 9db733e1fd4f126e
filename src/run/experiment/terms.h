// The terms on which an experiment runs: limits, retries, what counts as success. They can stand in
// the model config (for a repository), at the top of the settings, and in an entry; the later one
// wins, key by key.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/cause.h"
#include "experiment/json_reader.h"
#include "experiment/metrics.h"

namespace plimsoll::experiment {

using diagnosis::Cause;

// "shrink": {"batch_size": 0.5, "min": 16}: after it ran out of its own memory, a smaller one.
struct Shrink {
  std::string parameter;
  double factor = 0.5;
  double least = 1;
};

// What success needs beyond exit code 0.
struct Expectation {
  std::vector<std::string> metrics;  // that must have been found
  double least_seconds = 0;
  std::vector<std::string> must_match;  // regular expressions, each on some line of the log
  std::vector<std::string> must_not_match;
};

struct Terms {
  std::optional<double> timeout_seconds;
  std::optional<double> idle_seconds;
  std::optional<uint64_t> memory_bytes;
  std::optional<uint64_t> gpu_free_bytes;
  std::optional<std::vector<Cause>> retry_on;  // instead of our own policy
  std::optional<Shrink> shrink;
  std::optional<uint64_t> background_runs;  // a background load is started at most this often
  std::map<std::string, std::string> environment;
  std::optional<Expectation> expect;
};

Terms read_terms(ObjectReader& object);

// What `expect` wants found that no pattern looks for: "expect: there is no pattern of acc; did you
// mean accuracy?". Empty where there is nothing.
std::vector<std::string> metrics_without_pattern(const Expectation& expect,
                                                 const std::vector<MetricPattern>& patterns);

// `over` wins where it says something.
Terms merged(const Terms& under, const Terms& over);

}  // namespace plimsoll::experiment
