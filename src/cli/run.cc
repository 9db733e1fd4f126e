// plimsoll run: runs a batch of experiments, each with exec's guarantees, and records all of it in
// a journal.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/host.h"
#include "base/json.h"
#include "base/text_file.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/live_lines.h"
#include "energy/energy_use.h"
#include "experiment/batch.h"
#include "experiment/driver.h"
#include "experiment/expected_time.h"
#include "experiment/governor.h"
#include "experiment/outputs.h"
#include "experiment/progress.h"
#include "experiment/run_folder.h"
#include "experiment/supervised_child.h"
#include "gate/policy.h"
#include "meter/gpu.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using experiment::BatchTexts;
using experiment::Experiment;
using experiment::ExperimentBatch;
using experiment::KeyPolicy;
using experiment::Problems;

constexpr int kSomeFailed = 11;
constexpr int kPaused = 12;
constexpr const char* kBatch = "Batch";
constexpr const char* kAutoResume = "auto";
constexpr const char* kModelConfig = "the model config";

struct Options {
  std::string settings;
  std::string catalog;
  experiment::CommandLine words;
  std::optional<uint64_t> seed;
  std::optional<unsigned> max_retries;
  std::string governor;
  std::string results;
  std::string resume;
  std::string gpus;
  double gpu_wait_seconds = 600;
  double idle_baseline_seconds = 0;
  bool list = false;
  bool dry_run = false;
  bool lenient = false;
  bool strict = false;
  bool wait = false;
  bool keep_going = false;
  bool retry_failed = false;
  experiment::JobOptions jobs;
  bool no_steps = false;
};

LiveLines& screen() {
  static LiveLines lines;
  return lines;
}

void say(const std::string& text) { screen().say(text); }

std::string read_whole(const std::string& file, const std::string& what) {
  if (fs::is_directory(file)) fail(ErrorKind::io, "{} {} is a folder", what, file);
  if (access(file.c_str(), R_OK) != 0) fail_errno("read", fmt::format("{} {}", what, file), errno);
  return read_small_file(file, JsonLimits().bytes);
}

std::string find_catalog(const Options& options) {
  if (!options.catalog.empty()) return options.catalog;
  std::vector<fs::path> places = {"models_config.json", "config/models_config.json"};
  if (!options.settings.empty()) {
    places.push_back(fs::path(options.settings).parent_path() / "models_config.json");
  }
  for (const fs::path& place : places) {
    if (fs::exists(place)) return place.string();
  }
  // A wrong settings file is the likelier reason, since the model config is looked for beside it.
  if (!options.settings.empty()) read_whole(options.settings, "the settings");
  fail(ErrorKind::usage, "there is no models_config.json here; give the model config with -c FILE");
}

uint64_t new_seed() {
  std::random_device device;
  return device();
}

BatchTexts read_source(const Options& options) {
  BatchTexts source{.catalog_file = find_catalog(options),
                    .catalog_text = {},
                    .settings_file = options.settings,
                    .settings_text = {},
                    .words = options.words,
                    .seed = options.seed ? *options.seed : new_seed(),
                    .keys = options.strict    ? KeyPolicy::strict
                            : options.lenient ? KeyPolicy::lenient
                                              : KeyPolicy::usual,
                    .working_folder = fs::current_path().string(),
                    .max_retries = options.max_retries,
                    .governor = options.governor,
                    .gpus = options.gpus,
                    .jobs = options.jobs};
  source.catalog_text = read_whole(source.catalog_file, kModelConfig);
  if (!options.settings.empty())
    source.settings_text = read_whole(options.settings, "the settings");
  return source;
}

void report(const Problems& problems) {
  for (const auto& group : problems.grouped()) say(experiment::describe(group));
  if (problems.notes() > 0)
    say(fmt::format("notes in the files (they have no effect): {}", problems.notes()));
}

// Plans the batch. Reports all problems together; throws Error{input} if one is an error.
ExperimentBatch planned(const BatchTexts& source) {
  Problems problems(source.keys);
  ExperimentBatch batch = experiment::read_batch(source, problems);
  experiment::check_paths(batch, source, problems);
  experiment::plan_batch(batch, source, problems);
  report(problems);
  if (problems.errors() > 0) {
    fail(ErrorKind::input, "{}; no experiment was started", counted(problems.errors(), "error"));
  }
  return batch;
}

// Where to make the run's folder: from the command line, otherwise from the settings.
fs::path results_folder(const Options& options, const ExperimentBatch& batch) {
  return options.results.empty() ? batch.settings.results_folder : options.results;
}

void list_catalog(const Options& options) {
  const std::string file = find_catalog(options);
  Problems problems;
  experiment::print_catalog(
      experiment::read_catalog(read_whole(file, kModelConfig), file, problems));
  report(problems);
}

using experiment::RunLock;

[[noreturn]] void end_with(const experiment::DriverEnd& end, const fs::path& folder) {
  const std::string stopped = end.stopped > 0 ? fmt::format("{} stopped early, ", end.stopped) : "";
  say(fmt::format("{} succeeded, {}{} failed, {} left: {}", end.succeeded, stopped, end.failed,
                  end.left, (folder / "summary.csv").string()));
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

struct Claimed {
  fs::path folder;
  experiment::GpuClaim gpus;
  experiment::JobOptions jobs;
  std::optional<experiment::SlurmSteps> steps;
};

using Recorders = std::vector<std::unique_ptr<energy::Recorder>>;

// One for each experiment that runs at once. The idle power is measured once, on all GPUs.
Recorders open_recorders(const Options& options, const Claimed& claimed,
                         const std::vector<std::string>& gpus) {
  energy::EnergyUse use{.gpus = claimed.gpus.gpus,
                        .idle_baseline_seconds = options.idle_baseline_seconds,
                        .folder = claimed.folder,
                        .say = say};
  Recorders recorders;
  recorders.push_back(energy::open_recorder(use));
  if (gpus.size() == 1 && gpus.front() == use.gpus) return recorders;
  recorders.clear();
  use.idle_baseline_seconds = 0;  // now it is in the folder
  use.say = [](const std::string&) {};
  for (const std::string& handed : gpus) {
    use.gpus = handed;
    recorders.push_back(energy::open_recorder(use));
  }
  return recorders;
}

// In a Slurm allocation, several experiments at once are steps of the job.
std::optional<experiment::SlurmSteps> find_steps(const Options& options,
                                                 const experiment::JobOptions& jobs,
                                                 const ExperimentBatch& batch) {
  const unsigned at_once = jobs.at_once.value_or(1);
  if (at_once == 1 || options.no_steps) return std::nullopt;
  auto steps = experiment::slurm_steps(at_once, jobs.gpus_per_job);
  if (!steps) return std::nullopt;
  for (const Experiment& experiment : batch.queue) {
    if (!experiment.background) continue;
    fail(ErrorKind::usage,
         "{} has a background load, which cannot be a Slurm step beside it; give --no-steps, or "
         "--jobs 1",
         experiment.folder);
  }
  return steps;
}

// Slurm hands out the GPUs of a job; plimsoll leaves them alone then.
experiment::GpuClaim claim_for(const std::optional<experiment::SlurmSteps>& steps,
                               const std::string& gpus, const experiment::Waiting& waiting) {
  return steps ? experiment::GpuClaim() : experiment::claim_gpus(gpus, waiting);
}

std::vector<meter::GpuReading> read_gpus(const std::string& gpus) {
  const meter::GpuAccess access = meter::open_gpus();
  if (!access.gpus) return {};
  return gate::choose_gpus(gpus, access.gpus->read_counters(),
                           Host::real().variable("CUDA_VISIBLE_DEVICES"));
}

void drive(const Options& options, const Claimed& claimed, const BatchTexts& source,
           const ExperimentBatch& batch, experiment::Journal& journal) {
  const fs::path& folder = claimed.folder;
  const std::string& gpus = claimed.gpus.gpus;
  const experiment::Governor governor(batch.settings.governor);
  if (!governor.obstacle().empty()) say("warning: " + governor.obstacle());
  const std::vector<std::string> handed = experiment::hand_out_gpus(claimed.gpus, claimed.jobs);
  const bool elsewhere = claimed.steps && claimed.steps->nodes > 1;
  Recorders recorders(handed.size());
  if (!elsewhere) recorders = open_recorders(options, claimed, handed);
  if (claimed.steps) {
    say(fmt::format(
        "each experiment is a step of Slurm job {}: {}{}", claimed.steps->job,
        counted(claimed.steps->cpus, "CPU"),
        elsewhere ? "; energy is not measured, because it may run on another node" : ""));
  }
  experiment::DriverOptions driving{
      .folder = folder,
      .keep_going = options.keep_going,
      .gpu_wait_seconds = options.gpu_wait_seconds,
      .memory_bytes = claimed.jobs.memory_bytes,
      .steps = claimed.steps,
      .earlier = experiment::earlier_durations(folder.parent_path(), history_tables(batch, source),
                                               folder),
      .say = say};
  for (size_t i = 0; i < handed.size(); ++i) {
    driving.places.push_back({.gpus = handed[i], .energy = recorders[i].get()});
  }
  if (!claimed.gpus.uuids.empty()) {
    driving.read_gpus = read_gpus;
  } else if (batch.settings.cooldown.automatic) {
    say("warning: cooldown auto has no GPU to wait for; give a time such as \"30s\"");
  }
  experiment::MachineWatch machine(gpus.empty() ? "none" : gpus);
  driving.uses_gpu = [&machine](const std::vector<pid_t>& processes) {
    return machine.compute_for(processes);
  };
  if (screen().on_terminal()) {
    driving.show = [&machine](const experiment::BatchProgress& progress) {
      screen().show(lines_of(progress, machine.read()));
    };
  }
  experiment::DriverEnd end;
  {
    experiment::Driver driver(driving, source, batch, journal);
    end = driver.run();
  }
  end_with(end, folder);
}

void start(const Options& options) {
  const BatchTexts source = read_source(options);
  if (options.dry_run) {
    const ExperimentBatch batch = planned(source);
    experiment::print_dry_run(batch, source, results_folder(options, batch));
    return;
  }
  ExperimentBatch batch = planned(source);
  // Before the folder is made, so that a refused run leaves nothing behind.
  const auto steps = find_steps(options, source.jobs, batch);
  experiment::GpuClaim gpus = claim_for(steps, source.gpus, {.wait = options.wait, .say = say});
  experiment::hand_out_gpus(gpus, source.jobs);  // throws if there are too few
  const fs::path folder = experiment::make_run_folder(results_folder(options, batch));
  const RunLock own =
      experiment::take_lock(experiment::lock_file(folder), "this run", {.wait = false, .say = say});
  experiment::name_experiments(batch.queue, folder.filename().string());
  experiment::print_plan(batch, source);
  std::fflush(stdout);
  std::vector<experiment::JournalEntry> entries;
  for (const Experiment& experiment : batch.queue) {
    entries.push_back({.number = static_cast<int64_t>(experiment.number),
                       .id = experiment.id,
                       .plan = experiment::to_text(experiment),
                       .result = {}});
  }
  auto journal = experiment::Journal::create(folder, experiment::to_text(source), entries);
  experiment::give_to_caller(folder);  // already now, so that the user can resume it after a crash
  say("run folder: " + folder.string());
  drive(options, {.folder = folder, .gpus = std::move(gpus), .jobs = source.jobs, .steps = steps},
        source, batch, journal);
}

// All experiments have finished: only repairs the files, and does not wait for a GPU.
[[noreturn]] void finish_up(const fs::path& folder, const BatchTexts& source,
                            const ExperimentBatch& batch, experiment::Journal& journal) {
  say("nothing left to do: all experiments have finished");
  const experiment::DriverOptions driving{.folder = folder, .earlier = {}, .say = say};
  end_with(experiment::Driver(driving, source, batch, journal).run(), folder);
}

void resume(const Options& options) {
  const fs::path folder = fs::absolute(options.resume).lexically_normal();
  if (!fs::is_directory(folder)) fail(ErrorKind::io, "there is no folder {}", folder.string());
  const experiment::Waiting waiting{.wait = options.wait, .say = say};
  const RunLock own =
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
  const BatchTexts source = experiment::source_of(journal.settings());
  Problems known(source.keys);
  ExperimentBatch batch = experiment::read_batch(source, known);
  if (known.errors() > 0) {
    report(known);
    fail(ErrorKind::input, "the files that {} was started with cannot be used; start a new run",
         folder.string());
  }
  bool finished = true;
  for (const auto& entry : journal.entries()) {
    batch.queue.push_back(experiment::experiment_of(entry.plan));
    finished = finished && !entry.result.empty();
  }
  experiment::check_queue(batch);
  experiment::complete_queue(batch.queue, batch.catalog);
  if (finished) finish_up(folder, source, batch, journal);
  experiment::JobOptions jobs = source.jobs;
  if (options.jobs.at_once) jobs.at_once = options.jobs.at_once;
  if (options.jobs.gpus_per_job) jobs.gpus_per_job = options.jobs.gpus_per_job;
  if (options.jobs.memory_bytes) jobs.memory_bytes = options.jobs.memory_bytes;
  const auto steps = find_steps(options, jobs, batch);
  const std::string gpus = options.gpus.empty() ? source.gpus : options.gpus;
  drive(options,
        {.folder = folder, .gpus = claim_for(steps, gpus, waiting), .jobs = jobs, .steps = steps},
        source, batch, journal);
}

// For --resume auto: the newest run with these files and words; empty if there is none.
std::string run_to_continue(const Options& options) {
  const BatchTexts source = read_source(options);
  Problems known(source.keys);
  const ExperimentBatch batch = experiment::read_batch(source, known);
  const auto newest = experiment::newest_run_in(results_folder(options, batch));
  if (!newest) return {};
  const BatchTexts earlier = experiment::source_of(experiment::read_run(*newest).settings);
  const bool same =
      earlier.settings_text == source.settings_text &&
      earlier.catalog_text == source.catalog_text &&
      earlier.words.repository == source.words.repository &&
      earlier.words.model == source.words.model && earlier.words.mutate == source.words.mutate &&
      earlier.words.runs == source.words.runs && (!options.seed || earlier.seed == source.seed);
  return same ? newest->string() : std::string();
}

// Refuses options that would have no effect.
void check_words(const Options& options) {
  const bool names_a_batch = !options.settings.empty() || !options.words.repository.empty();
  if (!options.settings.empty() && !options.words.repository.empty()) {
    fail(ErrorKind::usage, "-ec names the settings of a batch, -r one training; give one of them");
  }
  const bool names_parts =
      options.words.model != "default" || options.words.mutate != "all" || options.words.runs != 1;
  if (names_parts && options.words.repository.empty()) {
    fail(ErrorKind::usage,
         "-m, -mt and -n need -r REPO; with -ec these values are in the settings");
  }
  const bool decides = names_a_batch || !options.catalog.empty() || options.seed ||
                       options.max_retries || !options.governor.empty() ||
                       !options.results.empty() || options.lenient || options.strict ||
                       options.dry_run || options.list;
  if (!options.resume.empty() && options.resume != kAutoResume && decides) {
    fail(
        ErrorKind::usage,
        "--resume uses the settings that the run was started with; only --gpu, --gpu-wait, --jobs, "
        "--gpus-per-job, --memory, --idle-baseline, --wait, --retry-failed and --keep-going can be "
        "given with it");
  }
  if (options.retry_failed && options.resume.empty()) {
    fail(ErrorKind::usage, "--retry-failed needs --resume FOLDER, which names the run");
  }
}

void run(Options& options) {
  check_words(options);
  if (options.resume == kAutoResume) options.resume = run_to_continue(options);
  if (!options.resume.empty()) {
    resume(options);
  } else if (options.list) {
    list_catalog(options);
  } else if (options.settings.empty() && options.words.repository.empty()) {
    fail(ErrorKind::usage, "give the settings with -ec FILE, or a training with -r REPO -m MODEL");
  } else {
    start(options);
  }
}

void add_batch_options(CLI::App& command, Options& options) {
  command.add_option("--experiment-config", options.settings, "the settings file (-ec)")
      ->type_name("FILE")
      ->group(kBatch);
  command
      .add_option("-c,--config", options.catalog,
                  "the model config; default: models_config.json here, in config/ or beside the "
                  "settings")
      ->type_name("FILE")
      ->group(kBatch);
  command
      .add_option("-r,--repo", options.words.repository,
                  "instead of -ec: run one training, of this repository of the model config")
      ->type_name("NAME")
      ->group(kBatch);
  command.add_option("-m,--model", options.words.model, "with -r: the model to train")
      ->type_name("NAME")
      ->default_str("default")
      ->group(kBatch);
  command
      .add_option("--mutate", options.words.mutate,
                  "with -r: hyperparameters to vary, as a,b or all (-mt)")
      ->type_name("LIST")
      ->default_str("all")
      ->group(kBatch);
  command.add_option("-n,--runs", options.words.runs, "with -r: number of experiments")
      ->check(whole_number(1, 1'000'000))
      ->type_name("N")
      ->default_str("1")
      ->group(kBatch);
  command
      .add_option("-s,--seed", options.seed,
                  "seed of the random draws; by default a new one, which is recorded")
      ->check(whole_number(0, UINT64_MAX))
      ->type_name("N")
      ->group(kBatch);
  command
      .add_option("--max-retries", options.max_retries,
                  "how often to repeat a failed experiment (-mr)")
      ->check(whole_number(0, 1000))
      ->type_name("N")
      ->group(kBatch);
  command
      .add_option("-g,--governor", options.governor,
                  "frequency governor of the CPUs while the batch runs")
      ->check(CLI::IsMember({"performance", "powersave", "ondemand", "conservative", "schedutil"}))
      ->group(kResources);
}

void add_job_options(CLI::App& command, Options& options) {
  command
      .add_option("-j,--jobs", options.jobs.at_once,
                  "run this many experiments at once; results do not depend on it")
      ->check(whole_number(1, 1000))
      ->type_name("N")
      ->default_str("1")
      ->group(kResources);
  command
      .add_option("--gpus-per-job", options.jobs.gpus_per_job,
                  "GPUs of each experiment; default: 1 with --jobs, otherwise all")
      ->check(whole_number(1, 1000))
      ->type_name("N")
      ->group(kResources);
  command
      .add_flag("--no-steps", options.no_steps,
                "in a Slurm job, run several at once here instead of as steps of the job")
      ->group(kResources);
  add_bytes(command, "--memory", options.jobs.memory_bytes,
            "memory of all experiments that run at once; one without `memory` in its settings gets "
            "an equal share")
      ->group(kResources);
}

}  // namespace

void add_run(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Run a batch of experiments");
  auto options = std::make_shared<Options>();
  options->words.model = "default";
  add_batch_options(*command, *options);
  command->add_flag("-l,--list", options->list, "list the trainings of the model config")
      ->group(kBatch);
  command->add_flag("--dry-run", options->dry_run, "show every draw and command, start nothing")
      ->group(kBatch);
  auto* lenient =
      command->add_flag("--lenient", options->lenient, "treat errors about keys as warnings")
          ->group(kBatch);
  command->add_flag("--strict", options->strict, "treat every unknown key as an error")
      ->excludes(lenient)
      ->group(kBatch);
  command
      ->add_option("--resume", options->resume,
                   "resume this run; auto: resume the newest run in --results with these settings, "
                   "otherwise start it")
      ->type_name("FOLDER")
      ->group(kBatch);
  command
      ->add_flag("--wait", options->wait,
                 "wait while another run uses the folder or the GPU, instead of failing")
      ->group(kBatch);
  command
      ->add_flag("--keep-going", options->keep_going,
                 "do not pause after five failures in a row with the same cause")
      ->group(kBatch);
  command
      ->add_flag("--retry-failed", options->retry_failed,
                 "with --resume: run failed experiments again, with the same values")
      ->group(kBatch);
  command
      ->add_option("--results", options->results,
                   "make the run's folder in this one; default: results")
      ->type_name("FOLDER")
      ->group(kOutput);
  command->add_option("--gpu", options->gpus, "the GPUs to use: 0,1 or all or none; default: all")
      ->type_name("LIST")
      ->group(kResources);
  add_job_options(*command, *options);
  command
      ->add_option_function<std::string>(
          "--gpu-wait",
          [options](const std::string& text) { options->gpu_wait_seconds = parse_seconds(text); },
          "wait this long for other processes on the GPUs")
      ->type_name("TIME")
      ->default_str("10m")
      ->group(kResources);
  command
      ->add_option_function<std::string>(
          "--idle-baseline",
          [options](const std::string& text) {
            options->idle_baseline_seconds = parse_seconds(text);
          },
          "first measure the power of the idle machine for this long, for net energy figures")
      ->type_name("TIME")
      ->group(kResources);
  command->footer(
      R"(Ctrl-C ends the batch after the current attempt, a second Ctrl-C at once.
--resume continues it.
Exit code: 0 all succeeded, 11 some failed, 12 paused after five failures with the same cause,
  3 an error in the files, 7 another run uses the folder or the GPU, 130 Ctrl-C
docs/experiments.md has the file formats and an example.

Examples:
  plimsoll run -ec settings/mutation_2x.json -c models_config.json
  plimsoll run -r examples -m mnist -mt epochs,learning_rate -n 5 -s 42
  plimsoll run -ec settings.json --dry-run
  plimsoll run --resume results/run_20261115_081500 --retry-failed)");
  command->callback([options] { run(*options); });
}

}  // namespace plimsoll::cli
