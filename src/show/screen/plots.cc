#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/print.h"
#include "base/terminal.h"
#include "plot/text_chart.h"
#include "recipe/recipe.h"
#include "report/figures.h"
#include "screen/screen.h"

namespace plimsoll::screen {
namespace {

using plot::Quantity;

constexpr size_t kWidest = 100;  // a wider figure is not easier to read
constexpr size_t kNarrowest = 24;
constexpr size_t kUsualWidth = 80;

plot::TextOptions text_options() {
  const size_t columns = terminal_columns(STDOUT_FILENO).value_or(kUsualWidth);
  return {.columns = std::clamp(columns - std::min<size_t>(columns, 1), kNarrowest, kWidest),
          .rows = 12,
          .unicode = shows_unicode()};
}

}  // namespace

void print_plots(const std::vector<plot::Chart>& charts) {
  for (const plot::Chart& chart : charts) print("\n{}", text_of(chart, text_options()));
}

void print_plot(const plot::BarChart& chart) { print("\n{}", text_of(chart, text_options())); }

std::vector<plot::Chart> store_charts(const graph::StoreSummary& summary) {
  plot::Chart degrees{.title = "In-degree",
                      .summary = "",
                      .x = {.label = "in-degree", .logarithmic = true},
                      .y = {.label = "nodes", .quantity = Quantity::number, .logarithmic = true},
                      .curves = {{.name = "nodes", .points = {}}}};
  // [k] counts the degrees from 2^(k-1) to 2^k - 1; degree 0 has no place on a log scale.
  for (size_t k = 1; k < summary.degrees.by_power_of_two.size(); ++k) {
    const auto nodes = static_cast<double>(summary.degrees.by_power_of_two[k]);
    if (nodes > 0) {
      degrees.curves[0].points.push_back({std::exp2(static_cast<double>(k) - 0.5), nodes});
    }
  }
  plot::Chart hotness{.title = "Hotness",
                      .summary = "",
                      .x = {.label = "first rows", .quantity = Quantity::share, .from_zero = true},
                      .y = {.label = "visits", .quantity = Quantity::share, .from_zero = true},
                      .curves = {{.name = "visits", .points = {{0, 0}}}}};
  for (const graph::HotnessPoint& point : summary.hotness) {
    hotness.curves[0].points.push_back(
        {static_cast<double>(point.rows_per_mille) / 1000, point.visits_share});
  }
  std::vector<plot::Chart> charts;
  if (degrees.curves[0].points.size() > 1) charts.push_back(std::move(degrees));
  if (hotness.curves[0].points.size() > 1) charts.push_back(std::move(hotness));
  return charts;
}

plot::BarChart memory_parts(const plan::Plan& plan) {
  plot::BarChart chart{.title = "Memory of the plan",
                       .summary = "",
                       .value = {.label = "memory", .quantity = Quantity::bytes},
                       .series = {"planned"},
                       .bars = {}};
  for (const plan::MemoryPart& part : plan.parts) {
    chart.bars.push_back({part.name, {static_cast<double>(part.bytes)}});
  }
  chart.bars.push_back({"peak", {static_cast<double>(plan.peak_bytes)}});
  chart.bars.push_back({"limit", {static_cast<double>(plan.limit_bytes)}});
  return chart;
}

std::vector<plot::Chart> epoch_times(const std::vector<plan::PlanRow>& rows) {
  plot::Chart chart{
      .title = "Epoch",
      .summary = "",
      .x = {.label = "memory limit", .quantity = Quantity::bytes, .logarithmic = true},
      .y = {.label = "time", .quantity = Quantity::seconds, .from_zero = true},
      .curves = {}};
  for (const plan::PlanRow& row : rows) {
    if (!row.plan.fits || row.plan.seconds_an_epoch <= 0) continue;
    const std::string name = "fan-out " + recipe::format_fanout(row.recipe.fanout);
    auto curve = std::ranges::find(chart.curves, name, &plot::ChartCurve::name);
    if (curve == chart.curves.end()) {
      chart.curves.push_back({.name = name, .points = {}});
      curve = chart.curves.end() - 1;
    }
    curve->points.push_back({static_cast<double>(row.plan.limit_bytes), row.plan.seconds_an_epoch});
  }
  for (plot::ChartCurve& curve : chart.curves) {
    std::ranges::sort(curve.points, {}, &plot::ChartPoint::x);
  }
  if (chart.curves.empty()) return {};
  return {std::move(chart)};
}

std::vector<plot::Chart> parameter_charts(const answer::Configurations& configurations,
                                          const answer::Aim& aim) {
  std::vector<plot::Chart> charts;
  for (const std::string& parameter : varying_parameters(configurations)) {
    plot::Chart chart = report::parameter_chart(configurations, aim, parameter);
    if (chart.curves.front().points.size() > 1) charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace plimsoll::screen
