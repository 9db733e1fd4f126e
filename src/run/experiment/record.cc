#include "experiment/record.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/host.h"
#include "base/json.h"
#include "energy/report.h"

namespace plimsoll::experiment {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kJournal = "a row of the journal";
constexpr const char* kVaried = "mutation";
constexpr const char* kDefault = "default";

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json values_json(const Values& values) {
  Json json = Json::array();
  for (const auto& [name, value] : values.all) {
    json.push_back({{"name", name}, {"number", value.number}, {"whole", value.whole}});
    if (value.rest != 0) json.back()["rest"] = value.rest;
    if (value.type == Value::Type::text) json.back()["text"] = value.word;
    if (value.type == Value::Type::boolean) json.back()["boolean"] = value.number != 0;
  }
  return json;
}

Values values_from(const Json& json) {
  Values values;
  for (const Json& item : json) {
    Value value{.number = item.at("number"), .whole = item.at("whole")};
    if (item.contains("rest")) value.rest = whole_in<int64_t>(item, "rest");
    if (item.contains("text")) value = text_value(item.at("text"));
    if (item.contains("boolean")) value = truth_value(item.at("boolean"));
    values.all.push_back({.name = item.at("name"), .value = value});
  }
  return values;
}

// A whole number with all its digits.
Json whole_json(const Value& value) {
  const auto whole = whole_of(value);
  if (!whole) return value.number;
  return *whole < 0 ? Json(static_cast<int64_t>(*whole)) : Json(static_cast<uint64_t>(*whole));
}

Json load_json(const Load& load) {
  return {
      {"repository", load.repository}, {"model", load.model}, {"values", values_json(load.values)}};
}

Load load_from(const Json& json) {
  return {.repository = json.at("repository"),
          .model = json.at("model"),
          .values = values_from(json.at("values"))};
}

Json attempt_json(const AttemptResult& result) {
  Json metrics = Json::object();  // as strings, because JSON has no nan
  for (const auto& [name, value] : result.metrics) metrics[name] = text_of(value);
  Json json = {{"cause", diagnosis::name(result.cause)},
               {"headline", result.headline},
               {"evidence", result.evidence},
               {"next_step", result.next_step},
               {"after", result.after},
               {"exit_code", result.exit_code},
               {"started", result.started},
               {"seconds", result.seconds},
               {"cpu_seconds", result.cpu_seconds},
               {"peak_bytes", result.peak_bytes},
               {"values", values_json(result.values)},
               {"metrics", metrics},
               {"missing_metrics", result.missing_metrics},
               {"background_runs", result.background_runs},
               {"counts", result.counts},
               {"steps", result.steps},
               {"shared", result.shared}};
  if (result.stop) {
    json["stop"] = {{"policy", name(result.stop->policy)},
                    {"step", result.stop->step},
                    {"value", text_of({.number = result.stop->value})},
                    {"reason", result.stop->reason}};
  }
  if (result.energy) json["energy"] = energy::to_json(*result.energy);
  return json;
}

// In journals of version 0.1 the cause is empty until the attempt ends.
Cause cause_from(const Json& json) {
  const auto name = json.at("cause").get<std::string>();
  return name.empty() ? Cause::driver_ended : diagnosis::cause_of(name);
}

StopRule::Policy read_policy(const std::string& word) {
  const auto policy = policy_named(word);
  if (!policy) fail(ErrorKind::input, "unknown policy of an early stop: {}", word);
  return *policy;
}

AttemptResult attempt_from(const Json& json) {
  AttemptResult result{.cause = cause_from(json),
                       .headline = json.at("headline"),
                       .evidence = json.at("evidence"),
                       .next_step = json.at("next_step"),
                       .after = json.at("after"),
                       .exit_code = whole_in<int>(json, "exit_code"),
                       .started = json.at("started"),
                       .seconds = json.at("seconds"),
                       .cpu_seconds = json.at("cpu_seconds"),
                       .peak_bytes = whole_in<uint64_t>(json, "peak_bytes"),
                       .values = values_from(json.at("values")),
                       .metrics = {},
                       .missing_metrics = json.at("missing_metrics"),
                       .background_runs = whole_in<size_t>(json, "background_runs"),
                       .counts = json.at("counts")};
  for (const auto& [name, value] : json.at("metrics").items()) {
    result.metrics[name] = parse_value(value.get<std::string>()).value_or(Value());
  }
  if (json.contains("steps")) {  // not of version 0.1
    result.steps = whole_in<uint64_t>(json, "steps");
    result.shared = whole_in<size_t>(json, "shared");
  }
  if (json.contains("stop")) {
    const Json& stop = json.at("stop");
    result.stop = StopRecord{
        .policy = read_policy(stop.at("policy")),
        .step = whole_in<uint64_t>(stop, "step"),
        .value = parse_value(stop.at("value").get<std::string>()).value_or(Value()).number,
        .reason = stop.at("reason")};
  }
  if (json.contains("energy")) {
    result.energy = std::make_shared<energy::EnergyReport>(energy::report_from(json.at("energy")));
  }
  return result;
}

}  // namespace

std::string to_text(const Experiment& experiment) {
  Json json = {{"number", experiment.number},
               {"id", experiment.id},
               {"folder", experiment.folder},
               {"mode", experiment.varied ? kVaried : kDefault},
               {"entry", experiment.entry},
               {"training", load_json(experiment.training)},
               {"configuration", experiment.configuration},
               {"repeat", experiment.repeat},
               {"listed", experiment.listed},
               {"warmup", experiment.warmup},
               {"baseline", experiment.baseline}};
  if (experiment.background) json["background"] = load_json(*experiment.background);
  return dump(json);
}

Experiment experiment_of(const std::string& text) {
  return from_json<Json>(text, kJournal, [](const Json& json) {
    Experiment experiment{.number = whole_in<size_t>(json, "number"),
                          .id = json.at("id"),
                          .folder = json.at("folder"),
                          .varied = json.at("mode") == kVaried,
                          .training = load_from(json.at("training")),
                          .background = {},
                          .entry = whole_in<size_t>(json, "entry")};
    if (json.contains("background")) experiment.background = load_from(json.at("background"));
    if (!json.contains("configuration")) return experiment;  // of version 0.1; complete_queue()
    experiment.configuration = json.at("configuration");
    experiment.repeat = whole_in<size_t>(json, "repeat");
    experiment.listed = whole_in<size_t>(json, "listed");
    experiment.warmup = json.at("warmup");
    experiment.baseline = json.at("baseline");
    return experiment;
  });
}

std::string to_text(const AttemptResult& result) { return dump(attempt_json(result)); }

AttemptResult attempt_of(const std::string& text) {
  return from_json<Json>(text, kJournal, attempt_from);
}

std::string to_text(const ExperimentResult& result) {
  return dump({{"success", result.success},
               {"retries", result.retries},
               {"suspicious", result.suspicious},
               {"last", attempt_json(result.last)}});
}

ExperimentResult result_of(const std::string& text) {
  return from_json<Json>(text, kJournal, [](const Json& json) -> ExperimentResult {
    return {.success = json.at("success"),
            .retries = whole_in<unsigned>(json, "retries"),
            .suspicious = json.at("suspicious"),
            .last = attempt_from(json.at("last"))};
  });
}

bool failed(const ExperimentResult& result) {
  return !result.success && result.last.cause != Cause::stopped_early;
}

Json plain_json(const Values& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values.all) {
    if (value.type == Value::Type::text) {
      json[name] = value.word;
    } else if (value.type == Value::Type::boolean) {
      json[name] = value.number != 0;
    } else {
      json[name] = value.whole ? whole_json(value) : Json(value.number);
    }
  }
  return json;
}

Json plain_json(const std::map<std::string, Value>& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) {
    if (value.rest != 0) {
      json[name] = whole_json(value);
    } else if (std::isfinite(value.number)) {
      json[name] = value.number;
    } else {
      json[name] = text_of(value);
    }
  }
  return json;
}

std::string iso_time(double seconds_since_epoch) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}", local_time(seconds_since_epoch));
}

}  // namespace plimsoll::experiment
