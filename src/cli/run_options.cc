#include "cli/run_options.h"

#include "base/error.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "tracking/batch_logs.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kBatch = "Batch";

void add_batch_options(CLI::App& command, BatchOptions& options) {
  command.add_option("--experiment-config", options.request.settings, "the settings file (-ec)")
      ->type_name("FILE")
      ->group(kBatch);
  command
      .add_option("-c,--config", options.request.catalog,
                  "the model config; default: models_config.json here, in config/ or beside the "
                  "settings")
      ->type_name("FILE")
      ->group(kBatch);
  command
      .add_option("-r,--repo", options.request.words.repository,
                  "instead of -ec: run one training, of this repository of the model config")
      ->type_name("NAME")
      ->group(kBatch);
  command
      .add_option("-m,--model", options.request.words.model,
                  "with -r: the model to train; may be left out if there is only one, or one "
                  "called default")
      ->type_name("NAME")
      ->group(kBatch);
  command
      .add_option("--mutate", options.request.words.mutate,
                  "with -r: hyperparameters to vary, as a,b or all (-mt)")
      ->type_name("LIST")
      ->default_str("all")
      ->group(kBatch);
  command.add_option("-n,--runs", options.request.words.runs, "with -r: number of experiments")
      ->check(whole_number(1, 1'000'000))
      ->type_name("N")
      ->default_str("1")
      ->group(kBatch);
  command
      .add_option("-s,--seed", options.request.seed,
                  "seed of the random draws; by default a new one, which is recorded")
      ->check(whole_number(0, UINT64_MAX))
      ->type_name("N")
      ->group(kBatch);
  command
      .add_option("--max-retries", options.request.max_retries,
                  "how often to repeat a failed experiment (-mr)")
      ->check(whole_number(0, 1000))
      ->type_name("N")
      ->group(kBatch);
  command
      .add_option("-g,--governor", options.request.governor,
                  "frequency governor of the CPUs while the batch runs")
      ->check(CLI::IsMember({"performance", "powersave", "ondemand", "conservative", "schedutil"}))
      ->group(kResources);
}

void add_job_options(CLI::App& command, BatchOptions& options) {
  command
      .add_option("-j,--jobs", options.request.jobs.at_once,
                  "run this many experiments at once; results do not depend on it")
      ->check(whole_number(1, 1000))
      ->type_name("N")
      ->default_str("1")
      ->group(kResources);
  command
      .add_option("--gpus-per-job", options.request.jobs.gpus_per_job,
                  "GPUs of each experiment; default: 1 with --jobs, otherwise all")
      ->check(whole_number(1, 1000))
      ->type_name("N")
      ->group(kResources);
  command
      .add_flag("--no-steps", options.no_steps,
                "in a Slurm job, run several at once here instead of as steps of the job")
      ->group(kResources);
  add_bytes(command, "--memory", options.request.jobs.memory_bytes,
            "memory of all experiments that run at once; one without `memory` in its settings gets "
            "an equal share; default: with --jobs, all that the machine allows")
      ->group(kResources);
}

}  // namespace

void add_run_options(CLI::App& command, BatchOptions& options) {
  add_batch_options(command, options);
  command.add_flag("-l,--list", options.list, "list the trainings of the model config")
      ->group(kBatch);
  command.add_flag("--dry-run", options.dry_run, "show every draw and command, start nothing")
      ->group(kBatch);
  auto* lenient =
      command
          .add_flag_callback(
              "--lenient", [&options] { options.request.keys = experiment::KeyPolicy::lenient; },
              "treat errors about keys as warnings")
          ->group(kBatch);
  command
      .add_flag_callback(
          "--strict", [&options] { options.request.keys = experiment::KeyPolicy::strict; },
          "treat every unknown key as an error")
      ->excludes(lenient)
      ->group(kBatch);
  command
      .add_option("--resume", options.resume,
                  "resume this run; auto: resume the newest run in --results with these settings, "
                  "otherwise start it")
      ->type_name("FOLDER")
      ->group(kBatch);
  command
      .add_flag("--wait", options.wait,
                "wait while another run uses the folder or the GPU, instead of failing")
      ->group(kBatch);
  command
      .add_flag("--keep-going", options.driving.keep_going,
                "do not pause after five failures in a row with the same cause")
      ->group(kBatch);
  command
      .add_flag("--retry-failed", options.retry_failed,
                "with --resume: run failed experiments again, with the same values")
      ->group(kBatch);
  command
      .add_option_function<std::string>(
          "--log",
          [&options](const std::string& text) {
            options.request.logs = track::parse_logs(text, tracking::kBatchLogs);
          },
          "also write the figures for other tools: a list of tensorboard, csv, jsonl, prometheus "
          "and optuna (docs/guides/logs.md)")
      ->type_name("LIST")
      ->group(kOutput);
  command
      .add_option("--results", options.request.results,
                  "make the run's folder in this one; default: results")
      ->type_name("FOLDER")
      ->group(kOutput);
  command
      .add_option("--gpu", options.request.gpus,
                  "the GPUs to use: 0,1 or all or none; default: all")
      ->type_name("LIST")
      ->group(kResources);
  add_job_options(command, options);
  command
      .add_option_function<std::string>(
          "--gpu-wait",
          [&options](const std::string& text) {
            options.driving.gpu_wait_seconds = parse_seconds(text);
          },
          "wait this long for other processes on the GPUs")
      ->type_name("TIME")
      ->default_str("10m")
      ->group(kResources);
  command
      .add_option_function<std::string>(
          "--idle-baseline",
          [&options](const std::string& text) {
            options.driving.idle_baseline_seconds = parse_seconds(text);
          },
          "first measure the power of the idle machine for this long, for net energy figures")
      ->type_name("TIME")
      ->group(kResources);
}

void check_words(const BatchOptions& options) {
  const experiment::BatchRequest& request = options.request;
  const bool names_a_batch = !request.settings.empty() || !request.words.repository.empty();
  if (!request.settings.empty() && !request.words.repository.empty()) {
    fail(ErrorKind::usage, "-ec names the settings of a batch, -r one training; give one of them");
  }
  const bool names_parts =
      !request.words.model.empty() || request.words.mutate != "all" || request.words.runs != 1;
  if (names_parts && request.words.repository.empty()) {
    fail(ErrorKind::usage,
         "-m, -mt and -n need -r REPO; with -ec these values are in the settings");
  }
  const bool decides = names_a_batch || !request.catalog.empty() || request.seed ||
                       request.max_retries || !request.governor.empty() ||
                       !request.results.empty() || request.keys != experiment::KeyPolicy::usual ||
                       options.dry_run || options.list;
  if (!options.resume.empty() && options.resume != kAutoResume && decides) {
    fail(
        ErrorKind::usage,
        "--resume uses the settings that the run was started with; only --gpu, --gpu-wait, --jobs, "
        "--gpus-per-job, --memory, --idle-baseline, --log, --wait, --retry-failed and --keep-going "
        "can be given with it");
  }
  if (options.retry_failed && options.resume.empty()) {
    fail(ErrorKind::usage, "--retry-failed needs --resume FOLDER, which names the run");
  }
}

}  // namespace plimsoll::cli
