// Two or more runs side by side.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/units.h"
#include "plot/axis.h"
#include "report/bodies.h"
#include "report/page.h"

namespace plimsoll::report {
namespace {

using plot::Quantity;

constexpr size_t kComparedCurves = 8;
constexpr size_t kMostDetailBytes = 850'000;  // a report stays below 1 MB

// Names that differ: of runs with the same name, the whole path.
std::vector<std::string> names_of(const std::vector<RunData>& runs) {
  std::map<std::string, size_t> count;
  for (const RunData& run : runs) ++count[found_in(run).name];
  std::vector<std::string> names;
  for (const RunData& run : runs) {
    const FoundRun& found = found_in(run);
    names.push_back(count[found.name] > 1 ? found.path.lexically_normal().string() : found.name);
  }
  return names;
}

std::vector<std::string> row_of(const TrainingData& data, const std::string& name) {
  const OneTraining& one = data.trainings.front();
  const launch::TrainingRecord& record = one.record;
  const AccuracyTexts accuracy = accuracies_of(data);
  const bool several = data.trainings.size() > 1;
  return {name,
          fmt::format("{} on {}{}", recipe::name(record.recipe.model), record.dataset,
                      several ? ", " + counted(data.trainings.size(), "seed") : ""),
          state_of(one),
          accuracy.valid,
          accuracy.test,
          several ? "-" : fmt::format("{} of {}", record.best_epoch, record.series.size()),
          record.seconds ? format_seconds(*record.seconds) : "-",
          record.peak_memory_bytes > 0 ? format_bytes(record.peak_memory_bytes) : "-",
          one.diary && one.diary->limit_bytes > 0 ? format_bytes(one.diary->limit_bytes) : "-"};
}

std::string training_table(const std::vector<const TrainingData*>& trainings,
                           const std::vector<std::string>& names) {
  HtmlTable html{.caption = "trainings",
                 .columns = {"run", "what", "state", "validation", "test", "best epoch", "time",
                             "peak memory", "limit"},
                 .rows = {},
                 .is_text = {true, true, true}};
  for (size_t i = 0; i < trainings.size(); ++i)
    html.rows.push_back(row_of(*trainings[i], names[i]));
  const auto gpu_of = [](const TrainingData* one) -> const std::optional<launch::GpuRecord>& {
    static const std::optional<launch::GpuRecord> kNone;
    const auto& diary = one->trainings.front().diary;
    return diary ? diary->gpu : kNone;
  };
  if (std::ranges::none_of(trainings, [&](const auto* one) { return gpu_of(one).has_value(); })) {
    return table(html);
  }
  html.columns.insert(html.columns.end(), {"GPU memory", "its limit"});
  for (size_t i = 0; i < trainings.size(); ++i) {
    const auto& gpu = gpu_of(trainings[i]);
    html.rows[i].push_back(gpu ? format_bytes(gpu->peak_bytes) : "-");
    html.rows[i].push_back(gpu ? format_bytes(gpu->limit_bytes) : "-");
  }
  return table(html);
}

// The settings that are not the same in all.
std::string differing_settings(const std::vector<const TrainingData*>& trainings,
                               const std::vector<std::string>& names) {
  std::vector<nlohmann::ordered_json> recipes;
  recipes.reserve(trainings.size());
  for (const TrainingData* one : trainings) {
    recipes.push_back(recipe::to_json(one->trainings.front().record.recipe));
  }
  HtmlTable html{
      .caption = "settings that differ", .columns = {"setting"}, .rows = {}, .is_text = {true}};
  for (const std::string& name : names) html.columns.push_back(name);
  for (const auto& [key, value] : recipes.front().items()) {
    const bool same =
        std::ranges::all_of(recipes, [&, &key = key, &value = value](const auto& recipe) {
          return recipe.value(key, nlohmann::ordered_json()) == value;
        });
    if (same) continue;
    std::vector<std::string> row = {key};
    for (const auto& recipe : recipes) {
      const auto other = recipe.value(key, nlohmann::ordered_json());
      row.push_back(other.is_string() ? other.get<std::string>() : other.dump());
    }
    html.rows.push_back(std::move(row));
  }
  return html.rows.empty() ? paragraph("The recipes are the same.") : table(html);
}

std::string training_curves(const std::vector<const TrainingData*>& trainings,
                            const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const EpochFigure what :
       {EpochFigure::loss, EpochFigure::valid, EpochFigure::test, EpochFigure::seconds}) {
    plot::Chart chart = epoch_chart(what);
    for (size_t i = 0; i < std::min(kComparedCurves, trainings.size()); ++i) {
      auto curve = epoch_curve(trainings[i]->trainings.front().record, what, names[i]);
      if (!curve.points.empty()) chart.curves.push_back(std::move(curve));
    }
    if (!chart.curves.empty()) all.push_back(figure(chart));
  }
  plot::Chart memory{.title = "Memory over time, as the kernel counts",
                     .summary = "",
                     .x = {.label = "time", .quantity = Quantity::seconds, .from_zero = true},
                     .y = {.label = "memory", .quantity = Quantity::bytes, .from_zero = true},
                     .curves = {}};
  for (size_t i = 0; i < std::min(kComparedCurves, trainings.size()); ++i) {
    const auto& diary = trainings[i]->trainings.front().diary;
    if (!diary) continue;
    plot::ChartCurve curve{.name = names[i], .points = {}};
    for (const auto& sample : diary->memory.samples) {
      curve.points.push_back({sample.seconds, static_cast<double>(sample.resident_bytes)});
    }
    if (!curve.points.empty()) memory.curves.push_back(std::move(curve));
  }
  if (!memory.curves.empty()) all.push_back(figure(memory));
  return figures(all);
}

std::string batch_table(const std::vector<const BatchData*>& batches,
                        const std::vector<std::string>& names) {
  HtmlTable html{.caption = "batches",
                 .columns = {"run", "state", "experiments", "succeeded", "failed", "best"},
                 .rows = {},
                 .is_text = {true, true, false, false, false, true}};
  for (size_t i = 0; i < batches.size(); ++i) {
    const answer::Configurations& all = batches[i]->configurations;
    size_t failed_ones = 0;
    for (const auto& [cause, count] : all.failures) failed_ones += count;
    html.rows.push_back({names[i], std::string(name(batches[i]->found.state)),
                         format_count(all.runs + all.unfinished), format_count(all.succeeded),
                         format_count(failed_ones), batches[i]->found.best});
  }
  return table(html);
}

// The metric that all batches have, against energy if all have it, else against time.
std::string batch_curves(const std::vector<const BatchData*>& batches,
                         const std::vector<std::string>& names) {
  const auto aim = aim_of(*batches.front());
  if (!aim) return {};
  const auto all_have = [&](const char* figure) {
    return std::ranges::all_of(batches, [&](const BatchData* one) {
      const auto figures = one->configurations.figures();
      return std::ranges::find(figures, figure) != figures.end();
    });
  };
  const bool energy = all_have(answer::kEnergy);
  const std::string cost = energy ? answer::kEnergy : answer::kSeconds;
  plot::Chart chart{.title = fmt::format("{} against {}", aim->figure, cost),
                    .summary = "",
                    .x = {.label = cost, .quantity = energy ? Quantity::joules : Quantity::seconds},
                    .y = {.label = aim->figure},
                    .curves = {}};
  for (size_t i = 0; i < std::min(kComparedCurves, batches.size()); ++i) {
    plot::ChartCurve curve{.name = names[i], .points = {}, .stroke = plot::Stroke::points};
    const answer::Configurations& known = batches[i]->configurations;
    for (const auto& one : known.all) {
      const auto x = one.figures.find(cost);
      const auto y = one.figures.find(aim->figure);
      if (x == one.figures.end() || y == one.figures.end()) continue;
      if (x->second.numbers.empty() || y->second.numbers.empty()) continue;
      curve.points.push_back({x->second.moments().mean, y->second.moments().mean});
      curve.labels.push_back(short_name(known, one));
    }
    if (!curve.points.empty()) chart.curves.push_back(std::move(curve));
  }
  return chart.curves.empty() ? std::string() : figures({figure(chart)});
}

}  // namespace

std::string comparison_body(const std::vector<RunData>& runs) {
  if (runs.size() == 1) return run_body(runs.front());
  const std::vector<std::string> names = names_of(runs);
  std::vector<const TrainingData*> trainings;
  std::vector<const BatchData*> batches;
  std::vector<std::string> training_names, batch_names;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (const auto* training = std::get_if<TrainingData>(&runs[i])) {
      trainings.push_back(training);
      training_names.push_back(names[i]);
    } else if (const auto* batch = std::get_if<BatchData>(&runs[i])) {
      batches.push_back(batch);
      batch_names.push_back(names[i]);
    }
  }
  std::string html =
      heading(Depth::page, 0, fmt::format("{} compared", counted(runs.size(), "run")));
  if (!trainings.empty()) {
    html += section(Depth::page, "Trainings",
                    training_table(trainings, training_names) +
                        differing_settings(trainings, training_names) +
                        training_curves(trainings, training_names));
    if (trainings.size() > kComparedCurves) {
      html += note(fmt::format("The figures show the first {} trainings.", kComparedCurves));
    }
  }
  if (!batches.empty()) {
    html += section(Depth::page, "Batches",
                    batch_table(batches, batch_names) + batch_curves(batches, batch_names));
  }
  size_t left_out = 0;
  for (const RunData& run : runs) {
    const std::string one = std::visit(
        [](const auto& data) {
          using Data = std::decay_t<decltype(data)>;
          if constexpr (std::is_same_v<Data, TrainingData>) {
            return training_body(data, Depth::part);
          } else if constexpr (std::is_same_v<Data, BatchData>) {
            return batch_body(data, Depth::part);
          } else {
            return job_log_body(data, Depth::part);
          }
        },
        run);
    if (html.size() + one.size() > kMostDetailBytes) {
      ++left_out;
      continue;
    }
    html += "<article>\n" + one + "</article>\n";
  }
  if (left_out > 0) {
    html +=
        note(fmt::format("The details of {} are left out, so that the page stays below 1 MB; "
                         "report them alone.",
                         counted(left_out, "run")));
  }
  return html;
}

}  // namespace plimsoll::report
