#include "experiment/terms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/nearest.h"
#include "experiment/judging.h"

namespace plimsoll::experiment {
namespace {

using Kind = JsonNode::Kind;

void check_patterns(ObjectReader& object, const std::string& key,
                    const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    if (const auto obstacle = obstacle_of_pattern(pattern)) {
      object.error(object.line_of(key), fmt::format("{}: '{}' {}", key, pattern, *obstacle));
    }
  }
}

Expectation read_expectation(const JsonNode& node, ObjectReader& parent) {
  ObjectReader object(node, parent.file(), parent.problems());
  Expectation expect;
  expect.metrics = object.texts("metrics").value_or(std::vector<std::string>{});
  expect.least_seconds = object.seconds("min_duration").value_or(0);
  expect.must_match = object.texts("must_match").value_or(std::vector<std::string>{});
  expect.must_not_match = object.texts("must_not_match").value_or(std::vector<std::string>{});
  check_patterns(object, "must_match", expect.must_match);
  check_patterns(object, "must_not_match", expect.must_not_match);
  object.finish("expect");
  return expect;
}

std::optional<Shrink> read_shrink(const JsonNode& node, ObjectReader& parent) {
  Shrink shrink;
  for (const JsonMember& member : node.members) {
    if (is_note(member.key)) {
      parent.problems().count_note();
    } else if (!member.value.is(Kind::number)) {
      parent.error(member.line, fmt::format("shrink: {} must be a number", member.key));
    } else if (member.key == "min") {
      shrink.least = member.value.number.number;
    } else if (!shrink.parameter.empty()) {
      parent.error(member.line, fmt::format("shrink names {} and {}; it shrinks one parameter",
                                            shrink.parameter, member.key));
    } else {
      shrink.parameter = member.key;
      shrink.factor = member.value.number.number;
    }
  }
  if (shrink.parameter.empty() || shrink.factor <= 0 || shrink.factor >= 1) {
    parent.error(node.line,
                 "shrink needs a parameter and a factor between 0 and 1, as in "
                 "{\"batch_size\": 0.5, \"min\": 16}");
    return std::nullopt;
  }
  return shrink;
}

void read_environment(const JsonNode& node, ObjectReader& parent, Terms& terms) {
  // plimsoll finds the processes of a run by these variables.
  constexpr std::array<std::string_view, 2> kOwn = {"PLIMSOLL_RUN", "PLIMSOLL_BATCH"};
  for (const JsonMember& member : node.members) {
    if (member.key.empty() || member.key.find('=') != std::string::npos) {
      parent.error(member.line, fmt::format("env: '{}' is not a valid variable name", member.key));
    } else if (std::find(kOwn.begin(), kOwn.end(), member.key) != kOwn.end()) {
      parent.error(member.line,
                   fmt::format("env: {} is reserved for plimsoll; remove it", member.key));
    } else if (member.value.is(Kind::text)) {
      terms.environment[member.key] = member.value.text;
    } else if (member.value.is(Kind::number)) {
      terms.environment[member.key] = text_of(member.value.number);
    } else {
      parent.error(member.line, fmt::format("env: {} must be a string", member.key));
    }
  }
}

std::optional<Objective> read_objective(const JsonNode& node, ObjectReader& parent) {
  ObjectReader object(node, parent.file(), parent.problems());
  const auto metric = object.text("metric");
  const auto goal = object.text("goal");
  object.finish("objective");
  if (metric && (goal == "max" || goal == "min")) {
    return Objective{.metric = *metric, .maximize = goal == "max"};
  }
  parent.error(node.line,
               "objective needs a metric and a goal, as in {\"metric\": \"accuracy\", \"goal\": "
               "\"max\"}; the goal is max or min");
  return std::nullopt;
}

// "asha", or {"policy": "asha", "min_steps": 3, "reduction": 2}.
std::optional<StopRule> read_stop(ObjectReader& parent) {
  const JsonNode* node = parent.any("stop");
  if (node == nullptr || node->is(Kind::null)) return std::nullopt;
  StopRule rule;
  std::string policy = node->text;
  if (node->is(Kind::object)) {
    ObjectReader object(*node, parent.file(), parent.problems());
    policy = object.text("policy").value_or("");
    rule.min_steps = object.count("min_steps", 1).value_or(rule.min_steps);
    rule.reduction = object.count("reduction", 2).value_or(rule.reduction);
    if (policy == "median" && object.has("reduction")) {
      object.error(object.line_of("reduction"), "stop: reduction has no meaning for median");
    }
    object.finish("stop");
  }
  const auto named = policy_named(policy);
  if (!named) {
    parent.error(node->line,
                 "stop must be \"asha\", \"median\", or an object such as {\"policy\": \"asha\", "
                 "\"min_steps\": 3, \"reduction\": 2}");
    return std::nullopt;
  }
  rule.policy = *named;
  return rule;
}

std::vector<Cause> read_causes(ObjectReader& object, const std::vector<std::string>& names) {
  const std::vector<std::string> known = retryable_causes();
  std::vector<Cause> causes;
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) != known.end()) {
      causes.push_back(*diagnosis::cause_named(name));
    } else {
      object.error(object.line_of("retry_on"),
                   fmt::format("retry_on: unknown cause {}; known causes are {}", name,
                               fmt::join(known, ", ")));
    }
  }
  return causes;
}

}  // namespace

Terms read_terms(ObjectReader& object) {
  Terms terms;
  terms.timeout_seconds = object.seconds("timeout");
  terms.idle_seconds = object.seconds("idle_timeout");
  terms.memory_bytes = object.bytes("memory");
  terms.gpu_free_bytes = object.bytes("gpu_free");
  if (const auto names = object.texts("retry_on")) terms.retry_on = read_causes(object, *names);
  if (const JsonNode* shrink = object.object("shrink")) {
    terms.shrink = read_shrink(*shrink, object);
  }
  terms.background_runs = object.count("background_max_runs", 1);
  if (const JsonNode* variables = object.object("env")) read_environment(*variables, object, terms);
  if (const JsonNode* expect = object.object("expect")) {
    terms.expect = read_expectation(*expect, object);
  }
  if (const JsonNode* objective = object.object("objective")) {
    terms.objective = read_objective(*objective, object);
  }
  terms.stop = read_stop(object);
  return terms;
}

namespace {

// What is wrong if no pattern finds the metric.
std::optional<std::string> lack_of_pattern(const std::string& key, const std::string& metric,
                                           const std::vector<MetricPattern>& patterns) {
  std::vector<std::string> known;
  known.reserve(patterns.size());
  for (const MetricPattern& pattern : patterns) known.push_back(pattern.name);
  if (std::find(known.begin(), known.end(), metric) != known.end()) return std::nullopt;
  const auto meant = nearest(metric, known);
  return fmt::format("{}: log_patterns has no pattern for the metric {}; {}", key, metric,
                     meant           ? fmt::format("did you mean {}?", *meant)
                     : known.empty() ? "it has no patterns"
                                     : fmt::format("there are {}", fmt::join(known, ", ")));
}

}  // namespace

std::vector<std::string> metrics_without_pattern(const Expectation& expect,
                                                 const std::vector<MetricPattern>& patterns) {
  std::vector<std::string> texts;
  for (const std::string& metric : expect.metrics) {
    if (auto text = lack_of_pattern("expect", metric, patterns)) texts.push_back(std::move(*text));
  }
  return texts;
}

std::optional<std::string> obstacle_of_stopping(const Terms& terms,
                                                const std::vector<MetricPattern>& patterns) {
  if (terms.stop && !terms.objective) {
    return "stop needs an objective, as in \"objective\": {\"metric\": \"accuracy\", \"goal\": "
           "\"max\"}";
  }
  if (!terms.objective) return std::nullopt;
  return lack_of_pattern("objective", terms.objective->metric, patterns);
}

Terms merged(const Terms& under, const Terms& over) {
  Terms terms = over;
  if (!terms.timeout_seconds) terms.timeout_seconds = under.timeout_seconds;
  if (!terms.idle_seconds) terms.idle_seconds = under.idle_seconds;
  if (!terms.memory_bytes) terms.memory_bytes = under.memory_bytes;
  if (!terms.gpu_free_bytes) terms.gpu_free_bytes = under.gpu_free_bytes;
  if (!terms.retry_on) terms.retry_on = under.retry_on;
  if (!terms.shrink) terms.shrink = under.shrink;
  if (!terms.background_runs) terms.background_runs = under.background_runs;
  if (!terms.expect) terms.expect = under.expect;
  if (!terms.objective) terms.objective = under.objective;
  if (!terms.stop) terms.stop = under.stop;
  terms.environment.insert(under.environment.begin(), under.environment.end());
  return terms;
}

}  // namespace plimsoll::experiment
