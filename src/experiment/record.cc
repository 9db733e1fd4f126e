#include "experiment/record.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "energy/report_json.h"

namespace plimsoll::experiment {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json values_json(const Values& values) {
  Json json = Json::array();
  for (const auto& [name, value] : values.all) {
    json.push_back({{"name", name}, {"number", value.number}, {"whole", value.whole}});
  }
  return json;
}

Values values_from(const Json& json) {
  Values values;
  for (const Json& item : json) {
    values.all.push_back({.name = item.at("name"),
                          .value = {.number = item.at("number"), .whole = item.at("whole")}});
  }
  return values;
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
  Json metrics = Json::object();  // as texts: JSON has no nan
  for (const auto& [name, value] : result.metrics) metrics[name] = fmt::format("{}", value);
  Json json = {{"cause", result.cause},
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
               {"counts", result.counts}};
  if (result.energy) json["energy"] = energy::to_json(*result.energy);
  return json;
}

AttemptResult attempt_from(const Json& json) {
  AttemptResult result{.cause = json.at("cause"),
                       .headline = json.at("headline"),
                       .evidence = json.at("evidence"),
                       .next_step = json.at("next_step"),
                       .after = json.at("after"),
                       .exit_code = json.at("exit_code"),
                       .started = json.at("started"),
                       .seconds = json.at("seconds"),
                       .cpu_seconds = json.at("cpu_seconds"),
                       .peak_bytes = json.at("peak_bytes"),
                       .values = values_from(json.at("values")),
                       .metrics = {},
                       .missing_metrics = json.at("missing_metrics"),
                       .background_runs = json.at("background_runs"),
                       .counts = json.at("counts")};
  for (const auto& [name, value] : json.at("metrics").items()) {
    result.metrics[name] = std::strtod(value.get<std::string>().c_str(), nullptr);
  }
  if (json.contains("energy")) {
    result.energy = std::make_shared<energy::Report>(energy::report_from(json.at("energy")));
  }
  return result;
}

}  // namespace

std::string to_text(const Experiment& experiment) {
  Json json = {{"number", experiment.number}, {"id", experiment.id},
               {"folder", experiment.folder}, {"mode", experiment.mode},
               {"entry", experiment.entry},   {"training", load_json(experiment.training)}};
  if (experiment.background) json["background"] = load_json(*experiment.background);
  return dump(json);
}

Experiment experiment_of(const std::string& text) {
  const Json json = Json::parse(text);
  Experiment experiment{.number = json.at("number"),
                        .id = json.at("id"),
                        .folder = json.at("folder"),
                        .mode = json.at("mode"),
                        .training = load_from(json.at("training")),
                        .background = {},
                        .entry = json.at("entry")};
  if (json.contains("background")) experiment.background = load_from(json.at("background"));
  return experiment;
}

std::string to_text(const AttemptResult& result) { return dump(attempt_json(result)); }

AttemptResult attempt_of(const std::string& text) { return attempt_from(Json::parse(text)); }

std::string to_text(const ExperimentResult& result) {
  return dump({{"success", result.success},
               {"retries", result.retries},
               {"suspicious", result.suspicious},
               {"last", attempt_json(result.last)}});
}

ExperimentResult result_of(const std::string& text) {
  const Json json = Json::parse(text);
  return {.success = json.at("success"),
          .retries = json.at("retries"),
          .suspicious = json.at("suspicious"),
          .last = attempt_from(json.at("last"))};
}

Json plain_json(const Values& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values.all) {
    if (value.whole) {
      json[name] = static_cast<int64_t>(value.number);
    } else {
      json[name] = value.number;
    }
  }
  return json;
}

Json plain_json(const std::map<std::string, double>& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) {
    if (std::isfinite(value)) {
      json[name] = value;
    } else {
      json[name] = fmt::format("{}", value);
    }
  }
  return json;
}

std::string iso_time(double seconds_since_epoch) {
  const auto whole = static_cast<time_t>(seconds_since_epoch);
  tm parts{};
  localtime_r(&whole, &parts);
  std::array<char, 32> text{};
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return {text.data(), size};
}

}  // namespace plimsoll::experiment
