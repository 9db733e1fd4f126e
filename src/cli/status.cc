// plimsoll status: shows the progress of a batch, from any terminal.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/print.h"
#include "cli/command.h"
#include "experiment/batch.h"
#include "experiment/json_reader.h"
#include "experiment/progress.h"
#include "experiment/run_folder.h"
#include "gate/policy.h"
#include "screen/screen.h"

namespace plimsoll::cli {
namespace {

struct StatusOptions {
  std::filesystem::path folder;
};

void print_status(const StatusOptions& options) {
  if (!options.folder.empty() && screen::is_training_folder(options.folder)) {
    screen::print_training_status(options.folder);
    return;
  }
  const experiment::KnownRun run =
      experiment::read_run(options.folder.empty() ? experiment::newest_run() : options.folder);
  experiment::Problems ignored(experiment::KeyPolicy::lenient);
  const auto texts = experiment::parse_texts(run.settings);
  const experiment::ExperimentBatch batch = experiment::read_batch(texts, ignored);
  experiment::look_after_files(run, batch.catalog);
  const auto [progress, begun] = experiment::state_of_run(run, batch);
  print("{}: {}\n", run.folder.string(), experiment::describe_state(run, progress));
  for (const auto& failure : experiment::failures_of(run)) {
    print("  failed  {}: {}{}\n", failure.experiment, failure.headline, failure.log);
  }
  if (run.driven) {
    for (const auto& line : lines_of(
             progress, experiment::MachineWatch({.kind = gate::GpuSelection::Kind::all}).read())) {
      print("{}\n", line);
    }
    return;
  }
  if (!progress.best.empty()) print("  best: {}\n", progress.best);
  print("  {}\n", describe_counts(progress));
  for (const auto& last : begun) {
    print("  interrupted: {}, attempt {}\n", last.experiment, last.attempt);
  }
  const std::string resume = experiment::resume_command(run.folder);
  if (progress.left > 0) print("  resume with: {}\n", resume);
  if (progress.failed > 0) print("  run the failed ones again: {} --retry-failed\n", resume);
}

}  // namespace

void add_status(CLI::App& app) {
  CLI::App* command = app.add_subcommand("status", "Show the progress of a batch");
  auto options = std::make_shared<StatusOptions>();
  command->add_option("RUN", options->folder,
                      "folder of the run, or the --save-dir of a training; default: the newest run "
                      "under ./results");
  command->footer("Examples:\n  plimsoll status\n  plimsoll status results/run_20261115_081500");
  command->callback([options] { print_status(*options); });
}

}  // namespace plimsoll::cli
