#include <fmt/format.h>
#include <unistd.h>

#include "answer/text_table.h"
#include "base/child.h"
#include "base/print.h"
#include "base/run_files.h"
#include "base/terminal.h"
#include "base/units.h"
#include "screen/screen.h"
#include "statistics/sample.h"

namespace plimsoll::screen {
namespace {

namespace fs = std::filesystem;
using launch::TrainingFigure;
using launch::TrainingRecord;
using recipe::TrainingStatus;

std::string accuracy_text(const std::optional<double>& accuracy) {
  return accuracy ? fmt::format("{:.4f}", *accuracy) : "-";
}

std::string describe_running(const fs::path& folder) {
  const auto diary = launch::read_diary(folder);
  if (!diary || diary->epoch == 0 || diary->status != TrainingStatus::running) return "running";
  return fmt::format("running, epoch {} of {}, batch {} of {}", diary->epoch,
                     diary->so_far.recipe.epochs, format_count(diary->batch),
                     format_count(diary->batches));
}

TrainingStatus status_of(const fs::path& folder) {
  if (launch::is_training_now(folder)) return TrainingStatus::running;
  return launch::has_only_checkpoint(folder) ? TrainingStatus::interrupted
                                             : launch::read_training(folder).status;
}

std::string describe_status(const fs::path& folder, TrainingStatus status) {
  return status == TrainingStatus::running ? describe_running(folder) : std::string(name(status));
}

bool can_be_resumed(TrainingStatus status) {
  return status == TrainingStatus::interrupted || status == TrainingStatus::stopped;
}

answer::TextTable table_of_trainings(const std::vector<TrainingRecord>& trainings) {
  answer::TextTable table;
  table.columns = {
      {"seed", {}},     {"best epoch", {}, false, 2}, {"valid", {}},         {"test", {}},
      {"time (s)", {}}, {"memory", {}, false, 1},     {"state", {}, true, 3}};
  for (const TrainingRecord& one : trainings) {
    const std::vector<std::string> cells = {
        fmt::format("{}", one.recipe.seed),
        fmt::format("{} of {}", one.best_epoch, one.series.size()),
        accuracy_text(one.valid_accuracy),
        accuracy_text(one.test_accuracy),
        one.seconds ? fmt::format("{:.1f}", *one.seconds) : "-",
        format_bytes(one.peak_memory_bytes),
        std::string(name(one.status))};
    for (size_t i = 0; i < cells.size(); ++i) table.columns[i].cells.push_back(cells[i]);
  }
  return table;
}

void print_heading(const fs::path& folder, const TrainingRecord& one) {
  print("{}: {} on {}\n  {}\n", folder.string(), name(one.recipe.model), one.dataset,
        describe(one.recipe));
}

void print_single(const fs::path& folder, const TrainingRecord& one) {
  print_heading(folder, one);
  print("  state     {} after {}, {}\n", name(one.status), counted(one.series.size(), "epoch"),
        one.device);
  print("  best      epoch {}: train {}, valid {}, test {}\n", one.best_epoch,
        accuracy_text(one.train_accuracy), accuracy_text(one.valid_accuracy),
        accuracy_text(one.test_accuracy));
  print("  time      {}\n  memory    peak {}\n", format_seconds(one.seconds.value_or(0)),
        format_bytes(one.peak_memory_bytes));
}

// Seeds of one recipe, and their means.
void print_seeds(const std::vector<TrainingRecord>& trainings) {
  answer::TextTable table = table_of_trainings(trainings);
  answer::fit(table, terminal_columns(STDOUT_FILENO).value_or(0));
  print("\n{}\n", text_of(table));
  const auto ended = launch::ended_of(trainings);
  for (const TrainingFigure& figure : figures_of(ended)) {
    print("{:<19} {}\n", figure.name, describe(figure));
  }
  print("mean ± standard deviation over {}\n", counted(ended.size(), "seed"));
}

}  // namespace

bool is_training_folder(const fs::path& folder) {
  std::error_code ignored;
  return !fs::exists(folder / kJournalFile, ignored) && !launch::training_folders(folder).empty();
}

std::string describe(const TrainingFigure& figure) {
  if (figure.values.empty()) return "-";
  const auto moments = statistics::moments_of(figure.values);
  return fmt::format("{} (n {})", statistics::format_spread(moments.mean, moments.deviation),
                     moments.count);
}

std::string left_out_note(size_t seeds, size_t counted_ones) {
  if (counted_ones == seeds) return "";
  return fmt::format("{} of {} not finished, left out", seeds - counted_ones,
                     counted(seeds, "seed"));
}

void print_training(const fs::path& folder) {
  const std::vector<TrainingRecord> trainings = launch::read_trainings(folder);
  const size_t seeds = launch::training_folders(folder).size();
  if (seeds == 1) return print_single(folder, trainings.front());
  const auto groups = launch::by_recipe(trainings);
  if (groups.size() > 1) {
    print(
        "{} mixes {} trainings that differ in more than their seed; each has means of its own\n\n",
        folder.string(), groups.size());
  }
  for (const auto& group : groups) {
    const auto differences = launch::differences_between(group.front(), trainings.front());
    print_heading(folder, group.front());
    if (!differences.empty()) print("  {}\n", describe(differences));
    print_seeds(group);
    if (&group != &groups.back()) print("\n");
  }
  const std::string note = left_out_note(seeds, launch::ended_of(trainings).size());
  if (!note.empty())
    print("{}; plimsoll status {} shows them\n", note, shell_word(folder.string()));
}

void print_training_mean(const fs::path& folder) {
  const auto ended = launch::ended_of(launch::read_trainings(folder));
  for (const TrainingFigure& figure : figures_of(ended)) {
    if (figure.name == "test accuracy") print("{} {}\n", figure.name, describe(figure));
  }
}

void print_training_status(const fs::path& folder) {
  const auto folders = launch::training_folders(folder);
  if (folders.size() == 1 && folders.front() == folder) {
    const TrainingStatus status = status_of(folder);
    print("{}: {}\n", folder.string(), describe_status(folder, status));
    if (!launch::has_only_checkpoint(folder)) print_training(folder);
    if (can_be_resumed(status)) {
      print("resume with: plimsoll train STORE --resume {}\n", shell_word(folder.string()));
    }
    return;
  }
  bool unfinished = false;
  for (const fs::path& one : folders) {
    const TrainingStatus status = status_of(one);
    unfinished = unfinished || can_be_resumed(status);
    print("{}: {}\n", one.string(), describe_status(one, status));
  }
  if (unfinished) {
    print("resume all with the command that started them, with --seeds and --resume {}\n",
          shell_word(folder.string()));
  }
}

}  // namespace plimsoll::screen
