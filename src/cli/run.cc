// plimsoll run: runs a batch of experiments, each with exec's guarantees, and records all of it in
// a journal.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/run_files.h"
#include "base/terminal.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/run_options.h"
#include "experiment/outputs.h"
#include "experiment/run_folder.h"
#include "experiment/supervised_child.h"
#include "track/step_log.h"
#include "tracking/batch_logs.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using experiment::BatchTexts;
using experiment::DriverEnd;
using experiment::ExperimentBatch;
using experiment::RunLock;

constexpr int kSomeFailed = 11;
constexpr int kPaused = 12;

LiveLines& screen() {
  static LiveLines lines;
  return lines;
}

void say(const std::string& text) { screen().say(text); }

experiment::BatchRunOptions shown(experiment::BatchRunOptions driving) {
  driving.say = say;
  if (screen().on_terminal()) {
    driving.show = [](const experiment::BatchProgress& progress,
                      const experiment::MachineNow& machine) {
      screen().show(lines_of(progress, machine));
    };
  }
  return driving;
}

[[noreturn]] void end_with(const DriverEnd& end, const fs::path& folder) {
  const std::string stopped = end.stopped > 0 ? fmt::format("{} stopped early, ", end.stopped) : "";
  say(fmt::format("{} succeeded, {}{} failed, {} left: {}", end.succeeded, stopped, end.failed,
                  end.left, (folder / kSummaryFile).string()));
  const std::string resume = experiment::resume_command(folder);
  if (end.signal != 0) {
    if (end.left > 0) say("stopped; resume with: " + resume);
    throw ExitWith{128 + end.signal};
  }
  if (!end.paused.empty()) {
    say(
        fmt::format("{}\nremove the cause, then: {} --retry-failed\n"
                    "without --retry-failed only the remaining experiments run; --keep-going does "
                    "not pause",
                    experiment::describe_pause(end.paused), resume));
    throw ExitWith{kPaused};
  }
  if (end.failed > 0) say(fmt::format("run the failed ones again: {} --retry-failed", resume));
  throw ExitWith{end.failed > 0 ? kSomeFailed : 0};
}

// The logs of --log, or those that the run had before it was resumed.
tracking::BatchLogs open_logs(const BatchOptions& options, const BatchTexts& texts,
                              const ExperimentBatch& batch, const fs::path& folder) {
  track::LogKinds kinds = options.request.logs;
  if (kinds.empty() && !texts.logs.empty()) {
    kinds = track::parse_logs(texts.logs, tracking::kBatchLogs);
  }
  return {folder, kinds, batch, say};
}

[[noreturn]] void drive(const BatchOptions& options, const BatchTexts& texts,
                        const ExperimentBatch& batch, const fs::path& folder,
                        const experiment::BatchClaim& claim, experiment::Journal& journal) {
  tracking::BatchLogs logs = open_logs(options, texts, batch, folder);
  logs.begin(journal);
  experiment::BatchRunOptions driving = shown(options.driving);
  driving.finished = [&logs](const experiment::Experiment& experiment,
                             const experiment::ExperimentResult& result) {
    logs.add(experiment, result);
  };
  const DriverEnd end = experiment::drive(folder, claim, texts, batch, journal, driving);
  logs.end();
  end_with(end, folder);
}

void list_catalog(const BatchOptions& options) {
  experiment::Problems problems;
  experiment::print_catalog(experiment::read_named_catalog(options.request, problems));
  experiment::report(problems, say);
}

void show_plan(const BatchOptions& options) {
  const BatchTexts texts = experiment::read_texts(options.request);
  const ExperimentBatch batch = experiment::planned_batch(texts, say);
  experiment::print_dry_run(batch, texts, results_folder(options.request, batch));
}

void start(const BatchOptions& options) {
  const BatchTexts texts = experiment::read_texts(options.request);
  ExperimentBatch batch = experiment::planned_batch(texts, say);
  // Before the folder is made, so that a refused run leaves nothing behind.
  const auto claim = experiment::claim_for(batch, texts.jobs, texts.gpus, !options.no_steps,
                                           {.wait = options.wait, .say = say});
  const fs::path folder = experiment::make_run_folder(results_folder(options.request, batch));
  [[maybe_unused]] const RunLock own =
      experiment::take_lock(experiment::lock_file(folder), "this run", {.wait = false, .say = say});
  experiment::name_experiments(batch.queue, folder.filename().string());
  experiment::print_plan(batch, texts);
  std::fflush(stdout);
  auto journal = experiment::create_journal(folder, texts, batch);
  experiment::give_to_caller(folder);  // already now, so that the user can resume it after a crash
  say("run folder: " + folder.string());
  drive(options, texts, batch, folder, claim, journal);
}

void resume(const BatchOptions& options) {
  const fs::path folder = fs::absolute(options.resume).lexically_normal();
  if (!fs::is_directory(folder)) fail(ErrorKind::io, "there is no folder {}", folder.string());
  const experiment::Waiting waiting{.wait = options.wait, .say = say};
  [[maybe_unused]] const RunLock own =
      experiment::take_lock(experiment::lock_file(folder), folder.string(), waiting);
  auto journal = experiment::Journal::open(folder);
  if (const size_t ended = experiment::end_leftovers(folder); ended > 0) {
    say(fmt::format("ended {} left over from the last driver", counted(ended, "process")));
  }
  if (options.retry_failed) {
    const size_t again = experiment::reopen_failed(journal);
    say(again == 0 ? "no experiment has failed"
                   : fmt::format("failed experiments that will run again: {}", again));
  }
  const BatchTexts texts = experiment::parse_texts(journal.settings());
  const ExperimentBatch batch = experiment::journaled_batch(texts, journal, folder, say);
  if (std::ranges::none_of(journal.entries(), [](const auto& one) { return one.result.empty(); })) {
    say("nothing left to do: all experiments have finished");
    tracking::BatchLogs logs = open_logs(options, texts, batch, folder);
    logs.begin(journal);
    logs.end();
    end_with(experiment::repair_files(folder, texts, batch, journal, say), folder);
  }
  const auto claim = experiment::claim_for(
      batch, experiment::changed_jobs(texts.jobs, options.request.jobs),
      options.request.gpus.empty() ? texts.gpus : options.request.gpus, !options.no_steps, waiting);
  drive(options, texts, batch, folder, claim, journal);
}

void run(BatchOptions& options) {
  check_words(options);
  if (options.resume == kAutoResume) {
    options.resume = experiment::run_to_continue(options.request).value_or("").string();
  }
  if (!options.resume.empty()) return resume(options);
  if (options.list) return list_catalog(options);
  if (options.request.settings.empty() && options.request.words.repository.empty()) {
    fail(ErrorKind::usage, "give the settings with -ec FILE, or a training with -r REPO -m MODEL");
  }
  return options.dry_run ? show_plan(options) : start(options);
}

}  // namespace

void add_run(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Run a batch of experiments");
  auto options = std::make_shared<BatchOptions>();
  add_run_options(*command, *options);
  command->footer(
      R"(Ctrl-C ends the batch after the current attempt, a second Ctrl-C at once.
--resume continues it.
Exit code: 0 all succeeded, 11 some failed, 12 paused after five failures with the same cause,
  3 an error in the files, 7 another run uses the folder or the GPU, 130 Ctrl-C
docs/reference/experiments.md has the file formats and an example.

Examples:
  plimsoll run -ec settings/mutation_2x.json -c models_config.json
  plimsoll run -r examples -m mnist -mt epochs,learning_rate -n 5 -s 42
  plimsoll run -ec settings.json --dry-run
  plimsoll run --resume results/run_20261115_081500 --retry-failed)");
  command->callback([options] { run(*options); });
}

}  // namespace plimsoll::cli
