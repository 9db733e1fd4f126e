#include "report/figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/text_file.h"
#include "experiment/csv_table.h"
#include "plot/svg.h"
#include "report/bodies.h"

namespace plimsoll::report {
namespace {

namespace fs = std::filesystem;
using plot::Quantity;

constexpr plot::SvgOptions kAlone = {.width = 860, .height = 400, .alone = true};
constexpr const char* kMemoryHeading =
    "seconds,ledger_bytes,resident_bytes,planned_bytes,limit_bytes";

double number_in(const std::string& cell, const fs::path& file, size_t line) {
  try {
    return std::stod(cell);
  } catch (const std::exception&) {
    fail(ErrorKind::input, "{}, line {}: '{}' is not a number", file.string(), line, cell);
  }
}

// What train --memory-log wrote.
plot::Chart memory_log_chart(const fs::path& file) {
  const std::string text = read_small_file(file, experiment::kMostTableBytes);
  if (!text.starts_with(kMemoryHeading)) {
    fail(ErrorKind::input, "{} is not a table of train --memory-log: its first line is not {}",
         file.string(), kMemoryHeading);
  }
  plot::Chart chart{.title = "Memory over time",
                    .summary = "",
                    .x = {.label = "time", .quantity = Quantity::seconds, .from_zero = true},
                    .y = {.label = "memory", .quantity = Quantity::bytes, .from_zero = true},
                    .curves = {{.name = "resident, as the kernel counts", .points = {}},
                               {.name = "leased", .points = {}}}};
  double planned = 0;
  double limit = 0;
  experiment::for_each_row(text, [&](size_t line, const experiment::Row& row) {
    if (line == 1) return;
    if (row.size() != 5) fail(ErrorKind::input, "{}, line {}: not 5 cells", file.string(), line);
    const auto cell = [&](size_t i) { return number_in(row[i], file, line); };
    chart.curves[0].points.push_back({cell(0), cell(2)});
    chart.curves[1].points.push_back({cell(0), cell(1)});
    planned = cell(3);
    limit = cell(4);
  });
  if (limit > 0) chart.levels.push_back({"limit", limit, true});
  if (planned > 0) chart.levels.push_back({"planned peak", planned, false});
  return chart;
}

[[noreturn]] void fail_no_figure(const fs::path& path, std::string_view name,
                                 std::string_view why) {
  fail(ErrorKind::usage, "{} has no figure {}: {}", path.string(), name, why);
}

std::string svg_titled(auto chart, const std::string& title) {
  if (!title.empty()) chart.title = title;
  return svg_of(chart, kAlone);
}

std::string training_figure(const TrainingData& data, std::string_view name,
                            const std::string& title) {
  const OneTraining& one = data.trainings.front();
  const fs::path& path = data.found.path;
  if (name == "memory") {
    if (!one.diary) fail_no_figure(path, name, "there is no diary.json, which has it");
    return svg_titled(memory_chart(*one.diary, one.record), title);
  }
  for (const plot::Chart& chart : epoch_charts(one.record)) {
    if ((name == "loss") == (chart.y.label == "loss")) return svg_titled(chart, title);
  }
  fail_no_figure(path, name, "no epoch has ended");
}

std::string batch_figure(const BatchData& data, std::string_view name, const std::string& title) {
  if (name == "queue") return svg_titled(queue_chart(data), title);
  const auto chart = cost_chart(data);
  if (!chart) fail_no_figure(data.found.path, name, "no experiment has succeeded");
  return svg_titled(*chart, title);
}

}  // namespace

const std::vector<std::string>& figure_names() {
  static const std::vector<std::string> names = {"loss", "accuracy", "memory", "queue", "cost"};
  return names;
}

std::string figure_file(const fs::path& path, std::string_view name, const std::string& title) {
  if (name == "memory" && path.extension() == ".csv") {
    return svg_titled(memory_log_chart(path), title);
  }
  const RunData run = load_run(path);
  const bool of_batches = name == "queue" || name == "cost";
  if (const auto* training = std::get_if<TrainingData>(&run); training != nullptr && !of_batches) {
    return training_figure(*training, name, title);
  }
  if (const auto* batch = std::get_if<BatchData>(&run); batch != nullptr && of_batches) {
    return batch_figure(*batch, name, title);
  }
  fail_no_figure(path, name,
                 fmt::format("it is a {}; trainings have loss, accuracy and memory, batches queue "
                             "and cost",
                             report::name(found_in(run).kind)));
}

std::vector<plot::Chart> epoch_charts(const launch::TrainingRecord& record) {
  std::vector<plot::Chart> charts;
  plot::Chart loss = epoch_chart(EpochFigure::loss);
  loss.curves = {epoch_curve(record, EpochFigure::loss, "training loss")};
  if (!loss.curves.front().points.empty()) charts.push_back(std::move(loss));
  plot::Chart accuracy = epoch_chart(EpochFigure::valid);
  accuracy.title = "Accuracy";
  accuracy.curves = {epoch_curve(record, EpochFigure::valid, "validation"),
                     epoch_curve(record, EpochFigure::test, "test")};
  std::erase_if(accuracy.curves, [](const plot::ChartCurve& one) { return one.points.empty(); });
  if (!accuracy.curves.empty()) charts.push_back(std::move(accuracy));
  return charts;
}

}  // namespace plimsoll::report
