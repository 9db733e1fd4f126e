#include "answer/means_output.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiment/outputs.h"

namespace plimsoll::answer {
namespace {

using Json = nlohmann::ordered_json;

std::string column_name(const Configurations& configurations, const std::string& figure) {
  const auto& metrics = configurations.metrics;
  const bool metric = std::find(metrics.begin(), metrics.end(), figure) != metrics.end();
  if (metric) return "perf_" + figure;
  return figure == kEnergy ? "energy_joules" : figure == kCo2 ? "co2_grams" : figure;
}

std::string quality_of(const Configuration& one) {
  if (!one.figures.contains(kEnergy)) return "unavailable";
  return one.shared > 0 ? "shared" : "exclusive";
}

}  // namespace

Json moments_json(const FigureValues& values) {
  const auto moments = values.moments();
  Json json = {{"mean", moments.count > 0 ? Json(moments.mean) : Json(nullptr)},
               {"sd", moments.deviation ? Json(*moments.deviation) : Json(nullptr)},
               {"n", moments.count}};
  for (const auto& [name, times] : values.not_numbers) json[name] = times;
  return json;
}

Json means_json(const Configurations& configurations) {
  Json all = Json::array();
  for (const Configuration& one : configurations.all) {
    Json figures = Json::object();
    for (const auto& [name, values] : one.figures) {
      figures[column_name(configurations, name)] = moments_json(values);
    }
    all.push_back({{"configuration", one.number},
                   {"repository", one.repository},
                   {"model", one.model},
                   {"background", one.background},
                   {"hyperparameters", experiment::plain_json(one.values)},
                   {"runs", one.runs},
                   {"succeeded", one.succeeded},
                   {"stopped_early", one.stopped},
                   {"failures", one.failures},
                   {"energy_quality", quality_of(one)},
                   {"figures", figures}});
  }
  return all;
}

std::string means_csv(const Configurations& configurations) {
  experiment::Row header = {"configuration", "repository", "model",   "background",
                            "runs",          "succeeded",  "failures"};
  for (const std::string& name : configurations.parameters) header.push_back("hyperparam_" + name);
  const auto figures = configurations.figures();
  for (const std::string& figure : figures) {
    for (const char* part : {"mean", "sd", "n"}) {
      header.push_back(fmt::format("{}_{}", column_name(configurations, figure), part));
    }
  }
  header.emplace_back("energy_quality");
  std::string text = experiment::table_line(header);
  for (const Configuration& one : configurations.all) {
    std::string failures;
    for (const auto& [cause, times] : one.failures) {
      failures += fmt::format("{}{} {}", failures.empty() ? "" : ", ", cause, times);
    }
    experiment::Row row = {fmt::format("{}", one.number),
                           one.repository,
                           one.model,
                           one.background,
                           fmt::format("{}", one.runs),
                           fmt::format("{}", one.succeeded),
                           failures};
    for (const std::string& name : configurations.parameters) row.push_back(value_text(one, name));
    for (const std::string& figure : figures) {
      const auto found = one.figures.find(figure);
      const auto moments =
          found == one.figures.end() ? statistics::Moments() : found->second.moments();
      row.push_back(moments.count > 0 ? fmt::format("{}", moments.mean) : "");
      row.push_back(moments.deviation ? fmt::format("{}", *moments.deviation) : "");
      row.push_back(fmt::format("{}", moments.count));
    }
    row.push_back(quality_of(one));
    text += experiment::table_line(row);
  }
  return text;
}

}  // namespace plimsoll::answer
