#include "tracking/optuna_journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "experiment/best.h"

namespace plimsoll::tracking {
namespace {

using experiment::Experiment;
using experiment::ExperimentResult;
using experiment::Hyperparameter;
using experiment::Repository;
using experiment::Value;
using Json = nlohmann::ordered_json;

// Optuna's numbers.
constexpr int kCreateStudy = 0;
constexpr int kCreateTrial = 4;
constexpr int kMinimize = 1;
constexpr int kMaximize = 2;
constexpr int kComplete = 1;
constexpr int kPruned = 2;
constexpr int kFailed = 3;
constexpr const char* kWorker = "plimsoll";
constexpr const char* kDuration = "duration_seconds";  // what is minimised without a metric

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

Json json_of(const Value& value) {
  if (value.type == Value::Type::boolean) return value.number != 0;
  if (value.type == Value::Type::text) return value.word;
  if (value.whole) return static_cast<int64_t>(value.number);
  return value.number;
}

// The number of the objective; nothing if there is none that Optuna takes.
std::optional<double> figure_of(const ExperimentResult& result, const std::string& metric) {
  if (metric == kDuration) return result.last.seconds;
  const auto found = result.last.metrics.find(metric);
  if (found == result.last.metrics.end() || !std::isfinite(found->second.number)) {
    return std::nullopt;
  }
  return found->second.number;
}

int state_of(const ExperimentResult& result, bool has_figure) {
  if (result.last.stop) return kPruned;
  return result.success && has_figure ? kComplete : kFailed;
}

Json attributes_of(const Experiment& experiment, const ExperimentResult& result) {
  Json attributes = {{"experiment_id", experiment.id},
                     {"model", experiment.training.model},
                     {"configuration", experiment.configuration},
                     {"repeat", experiment.repeat},
                     {"cause", name(result.last.cause)},
                     {"duration_seconds", result.last.seconds}};
  if (result.last.energy) {
    const auto& energy = *result.last.energy;
    if (energy.cpu.total.joules) attributes["cpu_joules"] = *energy.cpu.total.joules;
    if (energy.all_gpus.joules) attributes["gpu_joules"] = *energy.all_gpus.joules;
  }
  for (const auto& [metric, value] : result.last.metrics) {
    if (std::isfinite(value.number)) attributes["metric_" + metric] = value.number;
  }
  return attributes;
}

Json steps_of(const std::vector<experiment::MetricCurve>& curves, const std::string& metric) {
  Json steps = Json::object();
  for (const experiment::MetricCurve& curve : curves) {
    if (curve.metric != metric) continue;
    for (size_t i = 0; i < curve.values.size(); ++i) {
      if (std::isfinite(curve.values[i])) steps[fmt::format("{}", i + 1)] = curve.values[i];
    }
  }
  return steps;
}

}  // namespace

void OptunaStudies::widen(Parameter& parameter, const Value& value) {
  const bool is_first = parameter.low > parameter.high;
  parameter.categorical = parameter.categorical || !value.is_number();
  parameter.whole = parameter.whole && value.whole;
  parameter.low = is_first ? value.number : std::min(parameter.low, value.number);
  parameter.high = is_first ? value.number : std::max(parameter.high, value.number);
  if (std::ranges::find(parameter.choices, value) == parameter.choices.end()) {
    parameter.choices.push_back(value);
  }
}

OptunaStudies::OptunaStudies(std::string run, const experiment::ExperimentBatch& batch)
    : batch_(batch) {
  for (const Experiment& experiment : batch.queue) {
    const std::string& name = experiment.training.repository;
    const Repository* const repository = batch.catalog.find(name);
    if (repository == nullptr || experiment.warmup) continue;
    auto [found, added] = studies_.try_emplace(name);
    Study& study = found->second;
    if (added) {
      study.name = fmt::format("{} {}", run, name);
      study.number = studies_.size() - 1;
      study.objective =
          objective_of(*repository, batch.settings)
              .value_or(experiment::Objective{.metric = kDuration, .maximize = false});
      for (const Hyperparameter& known : repository->hyperparameters) {
        Parameter parameter{.categorical = !known.choices.empty(),
                            .whole = known.whole,
                            .logarithmic = known.log_uniform,
                            .nuisance = known.nuisance,
                            .low = 1,
                            .high = 0,
                            .choices = {}};
        for (const Value& choice : known.choices) widen(parameter, choice);
        if (known.has_range) {
          widen(parameter, known.low);
          widen(parameter, known.high);
        }
        study.parameters[known.name] = parameter;
      }
    }
    for (const auto& value : experiment.training.values.all) {
      const auto parameter = study.parameters.find(value.name);
      if (parameter != study.parameters.end()) widen(parameter->second, value.value);
    }
  }
}

std::string OptunaStudies::opening() const {
  std::vector<const Study*> ordered(studies_.size());
  for (const auto& [repository, study] : studies_) ordered[study.number] = &study;
  std::string text;
  for (const Study* study : ordered) {
    text += line_of({{"op_code", kCreateStudy},
                     {"worker_id", kWorker},
                     {"study_name", study->name},
                     {"directions", {study->objective.maximize ? kMaximize : kMinimize}}});
    text += line_of({{"op_code", 2},
                     {"worker_id", kWorker},
                     {"study_id", study->number},
                     {"user_attr", {{"metric", study->objective.metric}}}});
  }
  return text;
}

std::string OptunaStudies::trial(const Experiment& experiment, const ExperimentResult& result,
                                 const std::vector<experiment::MetricCurve>& curves) const {
  const auto found = studies_.find(experiment.training.repository);
  if (found == studies_.end() || experiment.warmup) return {};
  const Study& study = found->second;
  Json distributions = Json::object();
  Json params = Json::object();
  Json attributes = attributes_of(experiment, result);
  for (const auto& [name, value] : result.last.values.all) {
    const auto known = study.parameters.find(name);
    if (known == study.parameters.end() || known->second.nuisance) {
      attributes[name] = json_of(value);
      continue;
    }
    // A retry may have shrunk the value.
    Parameter parameter = known->second;
    const auto choice = std::ranges::find(parameter.choices, value);
    if (parameter.categorical && choice == parameter.choices.end()) {
      attributes[name] = json_of(value);
      continue;
    }
    if (parameter.categorical) {
      Json choices = Json::array();
      for (const Value& one : parameter.choices) choices.push_back(json_of(one));
      params[name] = choice - parameter.choices.begin();
      distributions[name] =
          Json{{"name", "CategoricalDistribution"}, {"attributes", {{"choices", choices}}}}.dump();
      continue;
    }
    widen(parameter, value);
    const bool logarithmic = parameter.logarithmic && parameter.low > 0;
    params[name] = json_of(value);
    Json attribute = {{"low", parameter.low}, {"high", parameter.high}, {"log", logarithmic}};
    if (parameter.whole) {
      attribute = {{"low", static_cast<int64_t>(parameter.low)},
                   {"high", static_cast<int64_t>(parameter.high)},
                   {"log", logarithmic},
                   {"step", 1}};
    } else {
      attribute["step"] = nullptr;
    }
    distributions[name] = Json{
        {"name", parameter.whole ? "IntDistribution" : "FloatDistribution"},
        {"attributes",
         attribute}}.dump();
  }
  const std::optional<double> figure = figure_of(result, study.objective.metric);
  const int state = state_of(result, figure.has_value());
  const bool has_value = figure && state != kFailed;
  return line_of(
      {{"op_code", kCreateTrial},
       {"worker_id", kWorker},
       {"study_id", study.number},
       {"datetime_start", experiment::iso_time(result.last.started)},
       {"datetime_complete", experiment::iso_time(result.last.started + result.last.seconds)},
       {"state", state},
       {"value", has_value ? Json(*figure) : Json()},
       {"values", nullptr},
       {"distributions", distributions},
       {"params", params},
       {"user_attrs", attributes},
       {"system_attrs", Json::object()},
       {"intermediate_values", steps_of(curves, study.objective.metric)}});
}

}  // namespace plimsoll::tracking
