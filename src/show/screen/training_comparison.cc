#include "screen/training_comparison.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "answer/comparison.h"
#include "answer/text_table.h"
#include "base/error.h"
#include "base/json.h"
#include "base/print.h"
#include "base/terminal.h"
#include "base/units.h"
#include "launch/training_record.h"
#include "screen/training_view.h"

namespace plimsoll::screen {
namespace {

namespace fs = std::filesystem;
using answer::TextTable;
using launch::figures_of;
using launch::TrainingFigure;
using launch::TrainingRecord;
using Json = nlohmann::ordered_json;

constexpr size_t kMostEpochLines = 10;
// One figure of each kind: every further test makes the others weaker.
constexpr std::array<std::string_view, 3> kTested = {"test accuracy", "time (s)",
                                                     "peak memory (MiB)"};

struct Pair {
  std::vector<TrainingRecord> a;
  std::vector<TrainingRecord> b;
};

Pair read_pair(const ComparedTrainings& folders) {
  std::error_code missing;
  if (fs::equivalent(folders.a, folders.b, missing)) {
    fail(ErrorKind::usage, "{} and {} are the same training; name two", folders.a.string(),
         folders.b.string());
  }
  return {.a = launch::read_trainings(folders.a), .b = launch::read_trainings(folders.b)};
}

void add_row(TextTable& table, const std::vector<std::string>& cells) {
  for (size_t i = 0; i < cells.size(); ++i) table.columns[i].cells.push_back(cells[i]);
}

std::string show(TextTable table) {
  answer::fit(table, terminal_columns(STDOUT_FILENO).value_or(0));
  return text_of(table);
}

std::string plain_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

struct RecipeDifference {
  std::string field;
  std::string a;
  std::string b;
};

// The seed counts only if both are single trainings.
std::vector<RecipeDifference> recipe_differences(const Pair& pair) {
  std::vector<RecipeDifference> found;
  const TrainingRecord& a = pair.a.front();
  const TrainingRecord& b = pair.b.front();
  if (a.dataset != b.dataset) found.push_back({"data set", a.dataset, b.dataset});
  if (a.device != b.device) found.push_back({"device", a.device, b.device});
  const Json one = recipe::to_json(a.recipe);
  const Json other = recipe::to_json(b.recipe);
  const bool single = pair.a.size() == 1 && pair.b.size() == 1;
  for (const auto& [field, value] : one.items()) {
    if (value == other.at(field) || (field == "seed" && !single)) continue;
    found.push_back({field, plain_text(value), plain_text(other.at(field))});
  }
  return found;
}

std::string percent_text(double change) {
  constexpr double kVisible = 0.0005;
  if (std::abs(change) < kVisible) return "0 %";
  return fmt::format("{}{}", change < 0 ? "-" : "+", format_percent(std::abs(change)));
}

TextTable figure_table(const Pair& pair) {
  TextTable table;
  table.columns = {{"", {}, true}, {"A", {}}, {"B", {}}, {"B - A", {}}};
  const auto a = figures_of(pair.a);
  const auto b = figures_of(pair.b);
  for (size_t i = 0; i < a.size(); ++i) {
    std::string change = "-";
    if (!a[i].values.empty() && !b[i].values.empty()) {
      const double before = statistics::moments_of(a[i].values).mean;
      const double after = statistics::moments_of(b[i].values).mean;
      const bool accuracy = a[i].name.ends_with("accuracy");
      change = accuracy      ? fmt::format("{:+.4f}", after - before)
               : before == 0 ? "-"
                             : percent_text(after / before - 1);
    }
    add_row(table, {a[i].name, describe(a[i]), describe(b[i]), change});
  }
  add_row(table, {"parameters", format_count(pair.a.front().parameters),
                  format_count(pair.b.front().parameters), ""});
  return table;
}

// Epochs for the lines of the curves: the first, the last, and some between them.
std::vector<size_t> epochs_to_show(size_t epochs) {
  std::vector<size_t> shown;
  const size_t lines = std::min(epochs, kMostEpochLines);
  for (size_t i = 0; i < lines; ++i) {
    shown.push_back(lines == 1 ? 0 : i * (epochs - 1) / (lines - 1));
  }
  return shown;
}

TextTable curve_table(const TrainingRecord& a, const TrainingRecord& b) {
  TextTable table;
  table.columns = {{"epoch", {}},           {"loss A", {}},  {"loss B", {}},
                   {"valid A", {}},         {"valid B", {}}, {"test A", {}, false, 1},
                   {"test B", {}, false, 1}};
  const auto cell = [](const TrainingRecord& one, size_t epoch, auto member) -> std::string {
    if (epoch >= one.series.size() || !(one.series[epoch].*member)) return "";
    return fmt::format("{:.4f}", *(one.series[epoch].*member));
  };
  using launch::EpochRecord;
  for (const size_t epoch : epochs_to_show(std::max(a.series.size(), b.series.size()))) {
    add_row(
        table,
        {fmt::format("{}", epoch + 1), cell(a, epoch, &EpochRecord::loss),
         cell(b, epoch, &EpochRecord::loss), cell(a, epoch, &EpochRecord::valid_accuracy),
         cell(b, epoch, &EpochRecord::valid_accuracy), cell(a, epoch, &EpochRecord::test_accuracy),
         cell(b, epoch, &EpochRecord::test_accuracy)});
  }
  return table;
}

// The tests over the seeds of both.
answer::ComparisonAnswer tests_of(const Pair& pair, const ComparedTrainings& folders) {
  std::vector<answer::ComparedGroup> groups;
  std::vector<std::string> names;
  for (const auto& [label, trainings, folder] :
       {std::tuple{"A", &pair.a, &folders.a}, std::tuple{"B", &pair.b, &folders.b}}) {
    answer::ComparedGroup group{.label = label, .name = folder->string()};
    for (const TrainingFigure& figure : figures_of(*trainings)) {
      const bool tested = std::ranges::find(kTested, figure.name) != kTested.end();
      if (tested && std::find(names.begin(), names.end(), figure.name) == names.end()) {
        names.push_back(figure.name);
      }
      group.figures[figure.name].numbers = figure.values;
    }
    groups.push_back(std::move(group));
  }
  return answer::compare(std::move(groups), names, std::nullopt);
}

Json json_of_pair(const Pair& pair, const ComparedTrainings& folders) {
  Json json = {{"a", folders.a.string()}, {"b", folders.b.string()}, {"recipe", Json::object()}};
  for (const auto& [field, a, b] : recipe_differences(pair)) {
    json["recipe"][field] = {{"a", a}, {"b", b}};
  }
  json.update(to_json(tests_of(pair, folders)));
  for (const auto& [key, trainings] :
       {std::pair{"curves_a", &pair.a}, std::pair{"curves_b", &pair.b}}) {
    json[key] = Json::array();
    const auto known = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
    for (const TrainingRecord& one : *trainings) {
      Json curve = Json::array();
      for (const auto& epoch : one.series) {
        curve.push_back({{"epoch", epoch.epoch},
                         {"loss", known(epoch.loss)},
                         {"valid_acc", known(epoch.valid_accuracy)},
                         {"test_acc", known(epoch.test_accuracy)}});
      }
      json[key].push_back({{"folder", one.folder.string()}, {"series", curve}});
    }
  }
  return json;
}

}  // namespace

nlohmann::ordered_json comparison_json(const ComparedTrainings& folders) {
  return json_of_pair(read_pair(folders), folders);
}

void print_comparison(const ComparedTrainings& folders) {
  const Pair pair = read_pair(folders);
  for (const auto& [label, folder, trainings] :
       {std::tuple{"A", &folders.a, &pair.a}, std::tuple{"B", &folders.b, &pair.b}}) {
    const TrainingRecord& first = trainings->front();
    print("{}  {}: {} on {}, {} after {}{}\n", label, folder->string(), name(first.recipe.model),
          first.dataset, first.status, counted(first.series.size(), "epoch"),
          trainings->size() > 1 ? fmt::format(", {}", counted(trainings->size(), "seed")) : "");
  }
  const auto differences = recipe_differences(pair);
  if (differences.empty()) {
    print("\nboth have the same recipe\n");
  } else {
    TextTable table;
    table.columns = {{"recipe", {}, true}, {"A", {}}, {"B", {}}};
    for (const auto& [field, a, b] : differences) add_row(table, {field, a, b});
    print("\n{}", show(std::move(table)));
  }
  print("\n{}", show(figure_table(pair)));
  print("\n{}", show(curve_table(pair.a.front(), pair.b.front())));
  if (pair.a.size() > 1 || pair.b.size() > 1) {
    print("curves: of the first seed of each\n\n{}",
          describe(tests_of(pair, folders), terminal_columns(STDOUT_FILENO).value_or(0)));
  } else {
    print(
        "one training each: whether they differ beyond chance can be seen with train --seeds 5\n");
  }
}

}  // namespace plimsoll::screen
