#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "answer/comparison.h"
#include "answer/text_table.h"
#include "base/error.h"
#include "base/json.h"
#include "base/print.h"
#include "base/terminal.h"
#include "base/units.h"
#include "launch/training_record.h"
#include "screen/screen.h"

namespace plimsoll::screen {
namespace {

namespace fs = std::filesystem;
using answer::TextTable;
using launch::figures_of;
using launch::RecipeDifference;
using launch::TrainingFigure;
using launch::TrainingRecord;
using Json = nlohmann::ordered_json;

constexpr size_t kMostEpochLines = 10;
// One figure of each kind: every further test makes the others weaker.
constexpr std::array<const char*, 3> kTested = {"test accuracy", "time (s)", "peak memory (MiB)"};

// One of the two folders.
struct Side {
  std::string label;
  fs::path folder;
  size_t seeds = 1;                       // that have begun
  std::vector<TrainingRecord> trainings;  // those that have results
  std::vector<TrainingRecord> counting;   // in means and tests: of several seeds, those that ended

  const TrainingRecord& first() const { return trainings.front(); }
};

struct Pair {
  Side a;
  Side b;
};

Side read_side(const char* label, const fs::path& folder) {
  Side side{.label = label, .folder = folder, .trainings = launch::read_trainings(folder)};
  side.seeds = launch::training_folders(folder).size();
  const auto groups = launch::by_recipe(side.trainings);
  if (groups.size() > 1) {
    fail(ErrorKind::input,
         "{} mixes trainings that differ in more than their seed: {} has {}. Move one of them to "
         "another folder, or name one seed, such as {}",
         folder.string(), groups[1].front().folder.string(),
         describe(launch::differences_between(groups[1].front(), groups[0].front())),
         groups[0].front().folder.string());
  }
  side.counting = side.seeds == 1 ? side.trainings : launch::ended_of(side.trainings);
  return side;
}

// A training in both would be compared with itself.
void refuse_common(const ComparedTrainings& folders) {
  std::error_code missing;
  if (fs::equivalent(folders.a, folders.b, missing)) {
    fail(ErrorKind::usage, "{} and {} are the same training; name two", folders.a.string(),
         folders.b.string());
  }
  for (const fs::path& a : launch::training_folders(folders.a)) {
    for (const fs::path& b : launch::training_folders(folders.b)) {
      if (!fs::equivalent(a, b, missing)) continue;
      fail(ErrorKind::usage, "{} and {} have a training in common: {}; name two without it",
           folders.a.string(), folders.b.string(), a.string());
    }
  }
}

Pair read_pair(const ComparedTrainings& folders) {
  refuse_common(folders);
  return {.a = read_side("A", folders.a), .b = read_side("B", folders.b)};
}

// "2 finished after 3 epochs, 1 stopped after 1 epoch"; of a single one "finished after 3 epochs"
std::string states_of(const Side& side) {
  struct Epochs {
    size_t trainings = 0;
    size_t least = SIZE_MAX;
    size_t most = 0;
  };
  std::map<recipe::TrainingStatus, Epochs> states;
  for (const TrainingRecord& one : side.trainings) {
    Epochs& epochs = states[one.status];
    ++epochs.trainings;
    epochs.least = std::min(epochs.least, one.series.size());
    epochs.most = std::max(epochs.most, one.series.size());
  }
  std::string text;
  for (const auto& [state, epochs] : states) {
    text += text.empty() ? "" : ", ";
    if (side.seeds > 1) text += fmt::format("{} ", epochs.trainings);
    text += fmt::format("{} after {}", name(state), counted(epochs.most, "epoch"));
    if (epochs.least < epochs.most) {
      text.insert(text.rfind(" after ") + 7, fmt::format("{} to ", epochs.least));
    }
  }
  const size_t without = side.seeds - side.trainings.size();
  if (without > 0) text += fmt::format(", {} without results yet", without);
  return side.seeds > 1 ? fmt::format("{}: {}", counted(side.seeds, "seed"), text) : text;
}

void add_row(TextTable& table, const std::vector<std::string>& cells) {
  for (size_t i = 0; i < cells.size(); ++i) table.columns[i].cells.push_back(cells[i]);
}

std::string show(TextTable table) {
  answer::fit(table, terminal_columns(STDOUT_FILENO).value_or(0));
  return text_of(table);
}

// The seed counts only if both are single trainings.
std::vector<RecipeDifference> recipe_differences(const Pair& pair) {
  const TrainingRecord& a = pair.a.first();
  const TrainingRecord& b = pair.b.first();
  auto found = launch::differences_between(a, b);
  if (a.device != b.device) found.push_back({"device", a.device, b.device});
  const bool single = pair.a.seeds == 1 && pair.b.seeds == 1;
  if (single && a.recipe.seed != b.recipe.seed) {
    found.push_back({"seed", fmt::format("{}", a.recipe.seed), fmt::format("{}", b.recipe.seed)});
  }
  return found;
}

std::string percent_text(double change) {
  constexpr double kVisible = 0.0005;
  if (std::abs(change) < kVisible) return "0 %";
  return fmt::format("{}{}", change < 0 ? "-" : "+", format_percent(std::abs(change)));
}

// "+0.0123", "-3.5": as many digits as the figure has.
std::string difference_text(double difference, bool accuracy) {
  if (accuracy) return fmt::format("{:+.4f}", difference);
  return fmt::format("{}{}", difference < 0 ? "-" : "+",
                     statistics::format_with_spread(std::abs(difference), std::nullopt));
}

TextTable figure_table(const Pair& pair) {
  TextTable table;
  table.columns = {{"", {}, true}, {"A", {}}, {"B", {}}, {"B - A", {}}, {"change", {}}};
  const auto a = figures_of(pair.a.counting);
  const auto b = figures_of(pair.b.counting);
  for (size_t i = 0; i < a.size(); ++i) {
    std::string difference = "-";
    std::string change = "-";
    if (!a[i].values.empty() && !b[i].values.empty()) {
      const double before = statistics::moments_of(a[i].values).mean;
      const double after = statistics::moments_of(b[i].values).mean;
      const bool accuracy = a[i].name.ends_with("accuracy");
      difference = difference_text(after - before, accuracy);
      if (!accuracy && before != 0) change = percent_text(after / before - 1);
    }
    add_row(table, {a[i].name, describe(a[i]), describe(b[i]), difference, change});
  }
  add_row(table, {"parameters", format_count(pair.a.first().parameters),
                  format_count(pair.b.first().parameters), "", ""});
  return table;
}

bool is_evaluated(const TrainingRecord& one, size_t epoch) {
  if (epoch >= one.series.size()) return false;
  return one.series[epoch].valid_accuracy || one.series[epoch].test_accuracy;
}

// Epochs for the lines of the curves: the first, the last, and some between them. Of those that one
// of the trainings evaluated; the others have only a loss.
std::vector<size_t> epochs_to_show(const TrainingRecord& a, const TrainingRecord& b) {
  std::vector<size_t> epochs(std::max(a.series.size(), b.series.size()));
  std::iota(epochs.begin(), epochs.end(), size_t{0});
  std::vector<size_t> evaluated;
  std::ranges::copy_if(epochs, std::back_inserter(evaluated), [&](size_t epoch) {
    return is_evaluated(a, epoch) || is_evaluated(b, epoch);
  });
  if (!evaluated.empty()) epochs = std::move(evaluated);
  std::vector<size_t> shown;
  const size_t lines = std::min(epochs.size(), kMostEpochLines);
  for (size_t i = 0; i < lines; ++i) {
    shown.push_back(epochs[lines == 1 ? 0 : i * (epochs.size() - 1) / (lines - 1)]);
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
  for (const size_t epoch : epochs_to_show(a, b)) {
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
answer::ComparisonAnswer tests_of(const Pair& pair) {
  std::vector<answer::ComparedGroup> groups;
  for (const Side* side : {&pair.a, &pair.b}) {
    answer::ComparedGroup group{.label = side->label, .name = side->folder.string()};
    if (side->counting.empty()) group.nothing = "no finished seed";
    for (const TrainingFigure& figure : figures_of(side->counting)) {
      if (!figure.values.empty()) group.figures[figure.name].numbers = figure.values;
    }
    groups.push_back(std::move(group));
  }
  return answer::compare(std::move(groups), {kTested.begin(), kTested.end()}, std::nullopt);
}

Json curves_json(const Side& side) {
  Json all = Json::array();
  const auto known = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  for (const TrainingRecord& one : side.trainings) {
    Json curve = Json::array();
    for (const auto& epoch : one.series) {
      curve.push_back({{"epoch", epoch.epoch},
                       {"loss", known(epoch.loss)},
                       {"valid_acc", known(epoch.valid_accuracy)},
                       {"test_acc", known(epoch.test_accuracy)}});
    }
    all.push_back(
        {{"folder", one.folder.string()}, {"status", name(one.status)}, {"series", curve}});
  }
  return all;
}

Json json_of_pair(const Pair& pair) {
  Json json = {{"a", pair.a.folder.string()},
               {"b", pair.b.folder.string()},
               {"left_out",
                {{"a", pair.a.seeds - pair.a.counting.size()},
                 {"b", pair.b.seeds - pair.b.counting.size()}}},
               {"recipe", Json::object()}};
  for (const auto& [field, a, b] : recipe_differences(pair)) {
    json["recipe"][field] = {{"a", a}, {"b", b}};
  }
  json.update(to_json(tests_of(pair)));
  json["curves_a"] = curves_json(pair.a);
  json["curves_b"] = curves_json(pair.b);
  return json;
}

}  // namespace

nlohmann::ordered_json comparison_json(const ComparedTrainings& folders) {
  return json_of_pair(read_pair(folders));
}

void print_comparison(const ComparedTrainings& folders) {
  const Pair pair = read_pair(folders);
  for (const Side* side : {&pair.a, &pair.b}) {
    print("{}  {}: {} on {}, {}\n", side->label, side->folder.string(),
          name(side->first().recipe.model), side->first().dataset, states_of(*side));
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
  for (const Side* side : {&pair.a, &pair.b}) {
    const std::string note = left_out_note(side->seeds, side->counting.size());
    if (!note.empty()) print("{}: {}\n", side->label, note);
  }
  print("\n{}", show(curve_table(pair.a.first(), pair.b.first())));
  if (pair.a.seeds > 1 || pair.b.seeds > 1) {
    print("curves: of the first seed of each\n\n{}",
          describe(tests_of(pair), terminal_columns(STDOUT_FILENO).value_or(0)));
  } else {
    print(
        "one training each: whether they differ beyond chance can be seen with train --seeds 5\n");
  }
}

}  // namespace plimsoll::screen
