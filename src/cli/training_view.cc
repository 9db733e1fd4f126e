#include "cli/training_view.h"

#include <fmt/format.h>
#include <unistd.h>

#include "answer/text_table.h"
#include "base/error.h"
#include "base/print.h"
#include "base/shell_word.h"
#include "base/units.h"
#include "cli/live_lines.h"
#include "statistics/sample.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using launch::TrainingRecord;

std::string accuracy_text(const std::optional<double>& accuracy) {
  return accuracy ? fmt::format("{:.4f}", *accuracy) : "-";
}

std::string state_of_training(const fs::path& folder) {
  if (launch::is_training_now(folder)) return "running";
  if (!launch::has_only_checkpoint(folder)) return launch::read_training(folder).status;
  return "interrupted; resume with: plimsoll train STORE --resume " + shell_word(folder.string());
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
        one.status};
    for (size_t i = 0; i < cells.size(); ++i) table.columns[i].cells.push_back(cells[i]);
  }
  return table;
}

}  // namespace

bool is_training_folder(const fs::path& folder) {
  std::error_code ignored;
  return !fs::exists(folder / "journal.sqlite", ignored) &&
         !launch::training_folders(folder).empty();
}

std::vector<TrainingRecord> read_trainings(const fs::path& folder) {
  std::vector<TrainingRecord> trainings;
  const auto folders = launch::training_folders(folder);
  for (const fs::path& one : folders) {
    if (!launch::has_only_checkpoint(one)) trainings.push_back(launch::read_training(one));
  }
  if (trainings.empty()) {
    fail(ErrorKind::io, "{} has no results.json{}", folder.string(),
         folders.empty() ? "; give the --save-dir of a training"
                         : ": its training runs or was interrupted; see plimsoll status");
  }
  return trainings;
}

std::string epochs_text(const TrainingRecord& training) {
  const size_t epochs = training.series.size();
  return fmt::format("{} epoch{}", format_count(epochs), epochs == 1 ? "" : "s");
}

std::vector<TrainingFigure> figures_of(const std::vector<TrainingRecord>& trainings) {
  std::vector<TrainingFigure> figures = {{"valid accuracy", {}},
                                         {"test accuracy", {}},
                                         {"time (s)", {}},
                                         {"time per epoch (s)", {}},
                                         {"peak memory (MiB)", {}}};
  const auto add = [&](size_t figure, const std::optional<double>& value) {
    if (value) figures[figure].values.push_back(*value);
  };
  for (const TrainingRecord& one : trainings) {
    add(0, one.valid_accuracy);
    add(1, one.test_accuracy);
    add(2, one.seconds);
    double seconds = 0;
    for (const auto& epoch : one.series) seconds += epoch.seconds.value_or(0);
    if (!one.series.empty()) add(3, seconds / static_cast<double>(one.series.size()));
    add(4, static_cast<double>(one.peak_memory_bytes) / kMiB);
  }
  return figures;
}

std::string describe(const TrainingFigure& figure) {
  if (figure.values.empty()) return "-";
  const auto moments = statistics::moments_of(figure.values);
  return fmt::format("{} (n {})", statistics::format_spread(moments.mean, moments.deviation),
                     moments.count);
}

void print_training(const fs::path& folder) {
  const std::vector<TrainingRecord> trainings = read_trainings(folder);
  const TrainingRecord& first = trainings.front();
  print("{}: {} on {}\n  {}\n", folder.string(), name(first.recipe.model), first.dataset,
        describe(first.recipe));
  if (trainings.size() == 1) {
    print("  state     {} after {}, {}\n", first.status, epochs_text(first), first.device);
    print("  best      epoch {}: train {}, valid {}, test {}\n", first.best_epoch,
          accuracy_text(first.train_accuracy), accuracy_text(first.valid_accuracy),
          accuracy_text(first.test_accuracy));
    print("  time      {}\n  memory    peak {}\n", format_seconds(first.seconds.value_or(0)),
          format_bytes(first.peak_memory_bytes));
    return;
  }
  answer::TextTable table = table_of_trainings(trainings);
  answer::fit(table, terminal_columns(STDOUT_FILENO).value_or(0));
  print("\n{}\n", text_of(table));
  for (const TrainingFigure& figure : figures_of(trainings)) {
    print("{:<19} {}\n", figure.name, describe(figure));
  }
  print("mean ± standard deviation over {}\n", counted(trainings.size(), "seed"));
}

void print_training_status(const fs::path& folder) {
  const auto folders = launch::training_folders(folder);
  if (folders.size() == 1 && folders.front() == folder) {
    print("{}: {}\n", folder.string(), state_of_training(folder));
    if (!launch::has_only_checkpoint(folder)) print_training(folder);
    return;
  }
  for (const fs::path& one : folders) {
    print("{}: {}\n", one.string(), state_of_training(one));
  }
}

}  // namespace plimsoll::cli
