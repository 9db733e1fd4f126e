// plimsoll status: shows the progress of a batch, from any terminal.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/print.h"
#include "cli/command.h"
#include "cli/training_view.h"
#include "experiment/batch.h"
#include "experiment/best.h"
#include "experiment/expected_time.h"
#include "experiment/json_reader.h"
#include "experiment/progress.h"
#include "experiment/run_folder.h"

namespace plimsoll::cli {
namespace {

struct Options {
  std::filesystem::path folder;
};

std::string state_of(const experiment::KnownRun& run, const experiment::BatchProgress& progress) {
  if (run.driven) return progress.running ? "running" : "running, between two experiments";
  if (progress.left == 0) return "finished";
  return run.paused.empty() ? "not running" : experiment::describe_pause(run.paused);
}

double seconds_since(double since_epoch) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count() - since_epoch;
}

// The attempts that have started but not ended: they are running now, or their driver was killed.
std::vector<experiment::RunningNow> unfinished(const experiment::KnownRun& run,
                                               const experiment::ExpectedTimes& expected) {
  std::vector<experiment::RunningNow> all;
  for (const auto& attempt : run.attempts) {
    if (!attempt.result.empty()) continue;
    const auto& made = run.queue.at(static_cast<size_t>(attempt.experiment) - 1);
    const auto begun = experiment::attempt_of(attempt.plan);
    all.push_back({.experiment = made.folder,
                   .attempt = static_cast<size_t>(attempt.number),
                   .values = describe(begun.values),
                   .last_line = experiment::last_line(run.folder / made.folder / "training.log"),
                   .seconds = seconds_since(begun.started),
                   .expected_seconds = expected.of(made),
                   .expected_rest = expected.rest_of(made, seconds_since(begun.started))});
  }
  return all;
}

void print_failures(const experiment::KnownRun& run) {
  for (size_t i = 0; i < run.entries.size(); ++i) {
    if (run.entries[i].result.empty()) continue;
    const auto result = experiment::result_of(run.entries[i].result);
    if (!failed(result) || run.queue[i].warmup) continue;
    const auto log = run.folder / run.queue[i].folder / "training.log";
    print("  failed  {}: {}{}\n", run.queue[i].folder, result.last.headline,
          experiment::describe_log(log, result.last.headline));
  }
}

void print_status(const Options& options) {
  if (!options.folder.empty() && is_training_folder(options.folder)) {
    print_training_status(options.folder);
    return;
  }
  const experiment::KnownRun run =
      experiment::read_run(options.folder.empty() ? experiment::newest_run() : options.folder);
  experiment::Problems ignored(experiment::KeyPolicy::lenient);
  const auto source = experiment::source_of(run.settings);
  const experiment::ExperimentBatch batch = experiment::read_batch(source, ignored);
  experiment::look_after_files(run, batch.catalog);
  experiment::ExpectedTimes expected(
      experiment::earlier_durations(run.folder.parent_path(), {}, run.folder));
  experiment::BatchProgress progress;
  experiment::BestSoFar best(batch.catalog, batch.settings);
  std::vector<const experiment::Experiment*> waiting;
  for (size_t i = 0; i < run.entries.size(); ++i) {
    if (run.entries[i].result.empty()) {
      waiting.push_back(&run.queue[i]);
      if (!run.queue[i].warmup) ++progress.left;
      continue;
    }
    if (run.queue[i].warmup) continue;
    const auto result = experiment::result_of(run.entries[i].result);
    ++(result.success ? progress.succeeded : failed(result) ? progress.failed : progress.stopped);
    if (result.success) expected.add(run.queue[i], result.last.seconds);
    best.add(run.queue[i], result);
  }
  progress.best = best.describe();
  const auto begun = unfinished(run, expected);
  std::vector<experiment::RunningNow> running;
  if (run.driven && !begun.empty()) {
    running = begun;
    progress.running = running.front();
    progress.beside.assign(running.begin() + 1, running.end());
  }
  for (const auto& now : running) {
    std::erase_if(waiting, [&](const auto* one) { return one->folder == now.experiment; });
  }
  progress.time_left = time_left(waiting, running, expected);
  progress.time_left.share_among(std::max<size_t>(1, running.size()));
  print("{}: {}\n", run.folder.string(), state_of(run, progress));
  print_failures(run);
  if (run.driven) {
    for (const auto& line : lines_of(progress, experiment::MachineWatch("all").read())) {
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
  auto options = std::make_shared<Options>();
  command->add_option("RUN", options->folder,
                      "folder of the run, or the --save-dir of a training; default: the newest run "
                      "under ./results");
  command->footer("Examples:\n  plimsoll status\n  plimsoll status results/run_20261115_081500");
  command->callback([options] { print_status(*options); });
}

}  // namespace plimsoll::cli
