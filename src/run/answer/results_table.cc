#include "answer/results_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/nearest.h"
#include "base/units.h"
#include "experiment/csv_table.h"

namespace plimsoll::answer {
namespace {

// Ranks of columns: the higher, the sooner it is left out.
constexpr int kAlways = 0;
constexpr int kParameterRank = 1;
constexpr int kFailedRank = 2;
constexpr int kEnergyRank = 3;
constexpr int kTimeRank = 4;
constexpr int kMetricRank = 5;

using Cells = std::vector<std::string>;

template <typename MakeCell>
Cells cells_of(const Configurations& configurations, const MakeCell& make) {
  Cells cells;
  cells.reserve(configurations.all.size());
  for (const Configuration& one : configurations.all) cells.push_back(make(one));
  return cells;
}

bool varies(const Configurations& configurations, std::string Configuration::*member) {
  const std::string& first = configurations.all.front().*member;
  return std::ranges::any_of(configurations.all,
                             [&](const Configuration& one) { return one.*member != first; });
}

// " shared" if other processes used the machine; " (covers 91 %)" if part of the time is missing.
std::string energy_quality(const Configuration& one) {
  std::string text;
  if (one.shared > 0) {
    text = one.shared == one.succeeded
               ? " shared"
               : fmt::format(" ({} of {} shared)", one.shared, one.succeeded);
  }
  const std::string coverage = format_percent(one.least_coverage);
  if (one.least_coverage < 1 && coverage != format_percent(1)) {
    text += fmt::format(" (covers {})", coverage);
  }
  return text;
}

TextColumn figure_column(const Configurations& configurations, const std::string& figure) {
  const FigureUnit unit = unit_of(configurations, figure);
  return {.heading = unit.heading,
          .cells = cells_of(configurations,
                            [&](const Configuration& one) {
                              const auto found = one.figures.find(figure);
                              if (found == one.figures.end()) return std::string("-");
                              std::string text = spread_text(found->second, unit.divisor);
                              if (figure == kEnergy) text += energy_quality(one);
                              return text;
                            }),
          .rank = figure == kSeconds                                       ? kTimeRank
                  : figure == kEnergy || figure == kCo2 || figure == kCost ? kEnergyRank
                                                                           : kMetricRank};
}

// "2 at step 9: 0.413 ± 0.012": how often, when, and with which value of the objective.
std::string stops_of(const Configuration& one) {
  if (one.stopped == 0) return "";
  if (one.last_stop == 0) return fmt::format("{}", one.stopped);
  const std::string steps = one.first_stop == one.last_stop
                                ? fmt::format("step {}", one.last_stop)
                                : fmt::format("steps {} to {}", one.first_stop, one.last_stop);
  return fmt::format("{} at {}: {}", one.stopped, steps, spread_text(one.values_at_stop));
}

struct NamedColumn {
  std::string name;
  TextColumn column;
};

std::vector<NamedColumn> all_columns(const Configurations& all, const Aim& aim) {
  std::vector<NamedColumn> columns;
  columns.push_back({"#", {"#", cells_of(all, [](const Configuration& one) {
                             return fmt::format("{}", one.number);
                           })}});
  if (varies(all, &Configuration::repository) || varies(all, &Configuration::model)) {
    columns.push_back(
        {"training",
         {"training",
          cells_of(all, [](const Configuration& one) { return one.repository + "/" + one.model; }),
          true}});
  }
  columns.push_back(
      {"beside",
       {"beside", cells_of(all, [](const Configuration& one) { return one.background; }), true}});
  const auto varying = varying_parameters(all);
  for (const std::string& parameter : all.parameters) {
    const bool shown = std::find(varying.begin(), varying.end(), parameter) != varying.end();
    const ShownValues values(all, parameter);
    columns.push_back(
        {parameter,
         {parameter, cells_of(all, [&](const Configuration& one) { return values.of(one); }), false,
          shown ? kParameterRank : -1}});
  }
  const auto figures = all.figures();
  const auto add_figure = [&](const std::string& figure) {
    columns.push_back({figure, figure_column(all, figure)});
    if (figure == aim.figure) columns.back().column.rank = kAlways;
  };
  if (std::find(figures.begin(), figures.end(), aim.figure) != figures.end()) {
    add_figure(aim.figure);
  }
  columns.push_back({"n", {"n", cells_of(all, [](const Configuration& one) {
                             return one.succeeded == one.runs
                                        ? fmt::format("{}", one.runs)
                                        : fmt::format("{} of {}", one.succeeded, one.runs);
                           })}});
  for (const std::string& figure : figures) {
    if (figure != aim.figure) add_figure(figure);
  }
  columns.push_back({"stopped", {"stopped early", cells_of(all, stops_of), true, kFailedRank}});
  columns.push_back(
      {"failed",
       {"failed",
        cells_of(all, [](const Configuration& one) { return counts_of_causes(one.failures); }),
        true, kFailedRank}});
  return columns;
}

}  // namespace

std::string spread_text(const FigureValues& values, double unit) {
  std::string text;
  if (!values.numbers.empty()) {
    const auto moments = values.moments();
    auto deviation = moments.deviation;
    if (deviation) *deviation /= unit;
    text = statistics::format_spread(moments.mean / unit, deviation);
  }
  for (const auto& [name, times] : values.not_numbers) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
    if (values.numbers.size() + times > 1) text += " " + counted(times, "time");
  }
  return text.empty() ? "-" : text;
}

FigureUnit unit_of(const Configurations& configurations, const std::string& figure) {
  if (figure == kCost) {
    const std::string& currency = configurations.prices.currency;
    return {.heading = currency.empty() ? "cost" : fmt::format("cost ({})", currency)};
  }
  if (figure != kEnergy) return {.heading = heading_of(figure)};
  double largest = 0;
  for (const Configuration& one : configurations.all) {
    const auto found = one.figures.find(figure);
    if (found == one.figures.end()) continue;
    largest = std::max(largest, std::abs(found->second.moments().mean));
  }
  const bool both = configurations.energy_parts.size() > 1;
  const std::string parts =
      both ? "" : fmt::format(", {}", fmt::join(configurations.energy_parts, ""));
  constexpr double kKilo = 1e3;
  constexpr double kMega = 1e6;
  if (largest >= 10 * kMega) return {fmt::format("energy (MJ{})", parts), kMega};
  if (largest >= 10 * kKilo) return {fmt::format("energy (kJ{})", parts), kKilo};
  return {fmt::format("energy (J{})", parts), 1};
}

TextTable results_table(const Configurations& configurations, const ResultsView& view) {
  TextTable table;
  if (configurations.all.empty()) return table;
  std::vector<NamedColumn> columns = all_columns(configurations, view.aim);
  const bool everything = view.columns == std::vector<std::string>{"all"};
  if (view.columns.empty() || everything) {
    for (NamedColumn& one : columns) {
      if (one.column.rank < 0) continue;  // the same in all: below the table
      table.columns.push_back(std::move(one.column));
    }
    fit(table, everything ? 0 : view.most_columns);
    return table;
  }
  table.columns.push_back(columns.front().column);
  for (const std::string& wanted : view.columns) {
    const std::string name = wanted == "time" ? kSeconds : wanted;
    if (name == "#") continue;
    const auto found =
        std::ranges::find_if(columns, [&](const NamedColumn& one) { return one.name == name; });
    if (found == columns.end()) {
      std::vector<std::string> names;
      names.reserve(columns.size());
      for (const NamedColumn& one : columns) names.push_back(one.name);
      const auto near = nearest(name, names);
      fail(ErrorKind::usage, "--columns: there is no column {}{}; known: all, {}", wanted,
           near ? fmt::format("; did you mean {}?", *near) : "", fmt::join(names, ", "));
    }
    table.columns.push_back(found->column);
  }
  return table;
}

std::string describe_counts(const Configurations& configurations) {
  std::string text = fmt::format("{}: {} succeeded", counted(configurations.runs, "experiment"),
                                 configurations.succeeded);
  if (configurations.stopped > 0) {
    text += fmt::format(", {} stopped early", configurations.stopped);
  }
  const size_t failed = configurations.runs - configurations.succeeded - configurations.stopped;
  if (failed > 0) {
    text += fmt::format(", {} failed ({})", failed, counts_of_causes(configurations.failures));
  }
  if (configurations.unfinished > 0) {
    text += fmt::format("; not finished: {}", configurations.unfinished);
  }
  return text;
}

std::string energy_note(const Configurations& configurations) {
  std::string reasons;
  for (const auto& [part, all] : configurations.energy_missing) {
    if (configurations.energy_parts.contains(part)) continue;
    for (const std::string& reason : all) {
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", part, reason);
    }
  }
  if (reasons.empty()) return "";
  if (!configurations.energy_parts.empty()) {
    return fmt::format("energy: without {}",
                       configurations.energy_parts.contains("CPU") ? "GPU" : "CPU") +
           "; " + reasons;
  }
  if (configurations.succeeded == 0) return "";
  return "energy: unavailable; " + reasons +
         "\n  plimsoll doctor says what this machine can measure and what is in the way";
}

std::vector<std::string> notes_of(const Configurations& configurations, const ResultsView& view,
                                  const TextTable& table) {
  std::vector<std::string> notes;
  const auto varying = varying_parameters(configurations);
  std::string same;
  for (const std::string& parameter : configurations.parameters) {
    if (std::find(varying.begin(), varying.end(), parameter) != varying.end()) continue;
    const std::string text = value_text(configurations.all.front(), parameter);
    if (!text.empty()) same += fmt::format("{}{} {}", same.empty() ? "" : ", ", parameter, text);
  }
  const bool one = configurations.all.size() == 1;
  if (!same.empty()) notes.push_back((one ? "values: " : "the same in all: ") + same);
  if (!one) {
    notes.push_back(fmt::format("best first by {}: {}", heading_of(view.aim.figure),
                                describe(view.aim, "--sort ")));
  }
  const bool once = std::ranges::all_of(
      configurations.all, [](const Configuration& each) { return each.succeeded < 2; });
  if (once) {
    notes.emplace_back("no configuration has two successful runs, so no spread is known");
  } else {
    notes.emplace_back("mean ± standard deviation over n runs");
  }
  size_t same_seed = 0;
  for (const Configuration& each : configurations.all) same_seed += each.same_seed;
  if (same_seed > 0) notes.push_back(same_seed_note(same_seed));
  if (configurations.stopped > 0 && configurations.objective) {
    notes.push_back(fmt::format("stopped early: how many, at which step, and the {} they had there",
                                heading_of(configurations.objective->metric)));
  }
  if (configurations.failures.contains(std::string(diagnosis::name(experiment::Cause::failed)))) {
    notes.emplace_back("own error: plimsoll status names that of each failed experiment");
  }
  if (!table.left_out.empty()) {
    notes.push_back(fmt::format("left out, the terminal has {} columns: {}; --columns all shows it",
                                view.most_columns, fmt::join(table.left_out, ", ")));
  }
  if (std::ranges::any_of(varying, [&](const std::string& parameter) {
        return ShownValues(configurations, parameter).rounded();
      })) {
    notes.emplace_back("values of hyperparameters are rounded; --csv has all digits");
  }
  const bool shared = std::ranges::any_of(
      configurations.all, [](const Configuration& each) { return each.shared > 0; });
  if (shared) {
    notes.emplace_back("shared: the energy includes other processes; docs/reference/energy.md");
  }
  if (const std::string energy = energy_note(configurations); !energy.empty()) {
    notes.push_back(energy);
  }
  if (configurations.suspicious > 0) {
    notes.push_back(fmt::format("suspicious: {}; --csv says why",
                                counted(configurations.suspicious, "experiment")));
  }
  return notes;
}

namespace {

using Json = nlohmann::ordered_json;

std::string column_name(const Configurations& configurations, const std::string& figure) {
  const auto& metrics = configurations.metrics;
  const bool metric = std::find(metrics.begin(), metrics.end(), figure) != metrics.end();
  if (metric) {
    const bool has_prefix =
        figure.starts_with("perf_") && figure_of_metric(figure) == "perf_" + figure;
    return has_prefix ? figure : "perf_" + figure;
  }
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
    all.push_back(
        {{"configuration", one.number},
         {"repository", one.repository},
         {"model", one.model},
         {"background", one.background},
         {"hyperparameters", experiment::plain_json(one.values)},
         {"runs", one.runs},
         {"succeeded", one.succeeded},
         {"stopped_early", one.stopped},
         {"last_step_of_stopped", one.last_stop == 0 ? Json(nullptr) : Json(one.last_stop)},
         {"objective_of_stopped", moments_json(one.values_at_stop)},
         {"failures", one.failures},
         {"energy_quality", quality_of(one)},
         {"figures", figures}});
  }
  return all;
}

std::string means_csv(const Configurations& configurations) {
  experiment::Row header = {"configuration", "repository", "model",         "background",
                            "runs",          "succeeded",  "stopped_early", "failures"};
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
                           fmt::format("{}", one.stopped),
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
