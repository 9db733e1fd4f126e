// The page of a batch: its table, what its metric depends on, what energy it took, and what
// happened in its queue.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "answer/exploration.h"
#include "answer/results_table.h"
#include "base/units.h"
#include "diagnosis/verdict.h"
#include "experiment/run_folder.h"
#include "plot/axis.h"
#include "report/bodies.h"

namespace plimsoll::report {
namespace {

using answer::Aim;
using answer::Configuration;
using plot::Quantity;

constexpr size_t kRowsAtMost = 500;
constexpr size_t kMembersAtMost = 100;
constexpr size_t kParametersAtMost = 24;

// What an axis calls a figure.
std::string label_of(const std::string& figure) {
  return figure == answer::kSeconds ? "time" : figure;
}

Quantity quantity_of(const std::string& figure) {
  if (figure == answer::kSeconds) return Quantity::seconds;
  if (figure == answer::kEnergy) return Quantity::joules;
  return Quantity::number;
}

// "Mean over n runs." of "mean over n runs".
std::string sentence(std::string text) {
  if (!text.empty()) {
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  }
  return text + ".";
}

std::string result_rows(const BatchData& data, const Aim& aim) {
  answer::Configurations sorted = data.configurations;
  sort_by(sorted, aim);
  const size_t all = sorted.all.size();
  if (all > kRowsAtMost) sorted.all.resize(kRowsAtMost);
  const answer::ResultsView view{.aim = aim, .columns = {}, .most_columns = 0};
  const answer::TextTable text = results_table(sorted, view);
  HtmlTable html{.caption = "configurations, best first", .columns = {}, .rows = {}, .is_text = {}};
  for (const auto& column : text.columns) {
    const bool empty = std::ranges::all_of(column.cells, &std::string::empty);
    if (empty) continue;
    html.columns.push_back(column.heading);
    html.is_text.push_back(column.to_the_left);
    html.rows.resize(column.cells.size());
    for (size_t i = 0; i < column.cells.size(); ++i) html.rows[i].push_back(column.cells[i]);
  }
  std::string out = paragraph(describe_counts(data.configurations) + ".");
  if (all > kRowsAtMost) {
    out += note(fmt::format("The best {} of {} are shown; plimsoll results {} --csv has all.",
                            kRowsAtMost, format_count(all), data.found.path.string()));
  }
  out += table(html);
  for (const std::string& line : notes_of(sorted, view, text)) {
    if (!line.starts_with("energy")) out += paragraph(sentence(line));
  }
  return out + paragraph("Options such as --sort and --csv are those of plimsoll results.");
}

// Numbers that span decades stand on a log scale; texts beside each other.
plot::Axis axis_of(const std::string& parameter, const std::vector<const Configuration*>& all) {
  plot::Axis axis{.label = parameter};
  std::set<std::string> texts;
  bool numbers = true;
  double low = INFINITY;
  double high = -INFINITY;
  for (const Configuration* one : all) {
    const experiment::Value* value = one->values.find(parameter);
    if (value == nullptr) continue;
    texts.insert(experiment::text_of(*value));
    numbers = numbers && value->is_number();
    low = std::min(low, value->number);
    high = std::max(high, value->number);
  }
  if (!numbers) axis.names = {texts.begin(), texts.end()};
  axis.logarithmic = numbers && low > 0 && high / low >= 20;
  return axis;
}

double place_on(const plot::Axis& axis, const experiment::Value& value) {
  if (axis.names.empty()) return value.number;
  const auto found = std::ranges::find(axis.names, experiment::text_of(value));
  return static_cast<double>(found - axis.names.begin());
}

std::vector<const Configuration*> with_figure(const answer::Configurations& all,
                                              const std::string& figure) {
  std::vector<const Configuration*> found;
  for (const Configuration& one : all.all) {
    if (mean_of(one, figure)) found.push_back(&one);
  }
  return found;
}

}  // namespace

plot::Chart parameter_chart(const answer::Configurations& configurations, const Aim& aim,
                            const std::string& parameter) {
  const auto all = with_figure(configurations, aim.figure);
  plot::Chart chart{.title = fmt::format("{} by {}", label_of(aim.figure), parameter),
                    .summary = "",
                    .x = axis_of(parameter, all),
                    .y = {.label = label_of(aim.figure), .quantity = quantity_of(aim.figure)},
                    .curves = {}};
  plot::ChartCurve runs{.name = "runs", .points = {}, .stroke = plot::Stroke::points};
  for (const Configuration* one : all) {
    const experiment::Value* value = one->values.find(parameter);
    if (value == nullptr) continue;
    for (const double number : one->figures.at(aim.figure).numbers) {
      runs.points.push_back({place_on(chart.x, *value), number});
      runs.labels.push_back(
          fmt::format("{}: {} {:.4g}", short_name(configurations, *one), aim.figure, number));
    }
  }
  chart.curves.push_back(std::move(runs));
  return chart;
}

namespace {

std::string by_parameter(const BatchData& data, const Aim& aim) {
  std::vector<std::string> all;
  const std::vector<std::string> parameters = varying_parameters(data.configurations);
  for (const std::string& parameter : parameters) {
    if (all.size() == kParametersAtMost) break;
    const plot::Chart chart = parameter_chart(data.configurations, aim, parameter);
    if (chart.curves.front().points.size() > 1) all.push_back(figure(chart));
  }
  if (all.empty()) return {};
  std::string out = paragraph(fmt::format(
      "Each point is one run. The other parameters vary, too; plimsoll results --importance says "
      "which one explains the spread of {}.",
      aim.figure));
  if (parameters.size() > all.size()) {
    out += note(fmt::format("{} of {} parameters are shown.", all.size(), parameters.size()));
  }
  return out + figures(all);
}

// The metric against what it costs, with the configurations that no other beats in both.
answer::ParetoAnswer front_of(const BatchData& data, const Aim& aim, const std::string& cost) {
  return pareto_of(data.configurations, aim, {.figure = cost, .maximize = false});
}

plot::Chart cost_chart(const BatchData& data, const Aim& aim, const std::string& cost,
                       const answer::ParetoAnswer& front) {
  plot::Chart chart{
      .title = fmt::format("{} against {}", label_of(aim.figure), label_of(cost)),
      .summary = "",
      .x = {.label = label_of(cost), .quantity = quantity_of(cost)},
      .y = {.label = label_of(aim.figure), .quantity = quantity_of(aim.figure)},
      .curves = {{.name = "configurations", .points = {}, .stroke = plot::Stroke::points},
                 {.name = "Pareto front",
                  .points = {},
                  .stroke = plot::Stroke::points,
                  .labels = {},
                  .joined = true}}};
  const auto point = [&](const Configuration& one, plot::ChartCurve& curve) {
    const auto x = mean_of(one, cost);
    const auto y = mean_of(one, aim.figure);
    if (!x || !y) return;
    curve.points.push_back({*x, *y});
    curve.labels.push_back(short_name(data.configurations, one));
  };
  for (const Configuration& one : data.configurations.all) {
    if (std::ranges::find(front.front, &one) == front.front.end()) point(one, chart.curves[0]);
  }
  for (const Configuration* one : front.front) point(*one, chart.curves[1]);
  if (chart.curves[0].points.empty()) chart.curves.erase(chart.curves.begin());
  return chart;
}

std::string against(const BatchData& data, const Aim& aim, const std::string& cost) {
  const answer::ParetoAnswer front = front_of(data, aim, cost);
  const plot::Chart chart = cost_chart(data, aim, cost, front);
  HtmlTable members{.caption = "the front: no other configuration beats these in both figures",
                    .columns = {"configuration", label_of(cost), label_of(aim.figure)},
                    .rows = {},
                    .is_text = {true}};
  for (const Configuration* one : front.front) {
    if (members.rows.size() == kMembersAtMost) break;
    members.rows.push_back(
        {short_name(data.configurations, *one),
         plot::value_text(quantity_of(cost), mean_of(*one, cost).value_or(0)),
         plot::value_text(quantity_of(aim.figure), mean_of(*one, aim.figure).value_or(0))});
  }
  return figures({figure(chart), "<div class=\"card\">" + table(members) + "</div>\n"});
}

// What a configuration costs: energy, or where none was measured, time. Empty if neither is known.
std::string cost_of(const BatchData& data, const Aim& aim) {
  for (const char* cost : {answer::kEnergy, answer::kSeconds}) {
    if (aim.figure != cost && !with_figure(data.configurations, cost).empty()) return cost;
  }
  return {};
}

std::string tradeoff(const BatchData& data, const Aim& aim) {
  const std::string cost = cost_of(data, aim);
  if (cost.empty()) return {};
  return (cost == answer::kEnergy ? ""
                                  : note("Energy was not measured, so the cost here is time.")) +
         against(data, aim, cost);
}

std::string headline(const BatchData& data, double seconds) {
  const answer::Configurations& all = data.configurations;
  double joules = 0;
  bool measured = false;
  for (const AttemptData& attempt : data.attempts) {
    const auto one = attempt.ended ? joules_of(data, attempt.result) : std::nullopt;
    joules += one.value_or(0);
    measured = measured || one;
  }
  size_t failed_ones = 0;
  for (const auto& [cause, count] : all.failures) failed_ones += count;
  return tiles(
      {{"experiments", format_count(all.runs + all.unfinished),
        all.unfinished > 0 ? fmt::format("{} left", format_count(all.unfinished)) : ""},
       {"succeeded", format_count(all.succeeded)},
       {"failed", format_count(failed_ones)},
       {"stopped early", all.stopped > 0 ? format_count(all.stopped) : ""},
       {"time", seconds > 0 ? format_seconds(seconds) : "", "first start to last end"},
       {"energy", measured ? plot::value_text(Quantity::joules, joules) : "", "of all attempts"}});
}

}  // namespace

std::optional<plot::Chart> cost_chart(const BatchData& data) {
  const auto aim = aim_of(data);
  const std::string cost = aim ? cost_of(data, *aim) : std::string();
  if (cost.empty()) return std::nullopt;
  return cost_chart(data, *aim, cost, front_of(data, *aim, cost));
}

std::optional<Aim> aim_of(const BatchData& data) {
  if (data.configurations.figures().empty()) return std::nullopt;
  return answer::aim_of(data.configurations, "");
}

std::string batch_body(const BatchData& data, Depth depth) {
  std::string html = heading(depth, 0, data.found.name);
  html += fmt::format("<p class=\"lead\">{} {}{}</p>\n", badge(name(data.found.state)),
                      escaped(data.found.what),
                      data.found.best.empty()
                          ? ""
                          : (data.configurations.unfinished > 0 ? "; best so far: " : "; best: ") +
                                escaped(data.found.best));
  if (!data.paused.empty()) html += note(experiment::describe_pause(data.paused));
  html += headline(data, batch_seconds(data));
  const auto aim = aim_of(data);
  if (aim) {
    html += section(depth, "Results", result_rows(data, *aim));
    html += section(depth, fmt::format("{} by parameter", label_of(aim->figure)),
                    by_parameter(data, *aim));
    html +=
        section(depth, fmt::format("{} against cost", label_of(aim->figure)), tradeoff(data, *aim));
  } else {
    html += section(depth, "Results", note("Nothing has succeeded yet."));
  }
  if (!data.attempts.empty()) {
    html += section(depth, "Energy", energy_html(data));
    html += section(depth, "Attempts and causes", causes_html(data));
    html += section(depth, "Queue", figures({wide_figure(queue_chart(data))}));
  }
  if (data.found.state != FoundState::running && data.configurations.unfinished > 0) {
    html += section(depth, "Resume it", command(data.resume));
  }
  return html;
}

std::string job_log_body(const JobLogData& data, Depth depth) {
  std::string html = heading(depth, 0, data.found.name);
  html += fmt::format("<p class=\"lead\">log of a Slurm job, {}, last written {}</p>\n",
                      escaped(format_bytes(data.bytes)), escaped(time_text(data.found.changed)));
  if (const auto verdict = diagnosis::judge_log(data.tail)) {
    html += section(depth, "What its end means",
                    command(describe(*verdict)) +
                        paragraph("plimsoll explain --job ID asks Slurm's accounting, too."));
  }
  return html + section(depth, "Last lines", command(data.tail));
}

}  // namespace plimsoll::report
