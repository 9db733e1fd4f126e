// plimsoll slurm: prints a complete sbatch script for a training or a batch, with memory and time
// from the plan, or submits it. The job then runs under `plimsoll slurm exec`.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/child.h"
#include "base/error.h"
#include "base/print.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/slurm_options.h"
#include "cli/train_options.h"
#include "experiment/batch_run.h"
#include "launch/job_plan.h"
#include "launch/training_device.h"
#include "slurm/script.h"
#include "slurm/slurm_command.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTask = "$SLURM_ARRAY_TASK_ID";

struct TrainScript {
  TrainOptions train;
  SlurmOptions slurm;
};

struct RunScript {
  SlurmOptions slurm;
  std::string results;
};

// The words of the training, for a shell. An array trains one seed in each task, each in a folder
// of its own.
std::vector<std::string> training_words(const CLI::App& command, const TrainScript& script,
                                        const launch::JobPlan& job) {
  const TrainOptions& train = script.train;
  const bool array = slurm::is_array(sbatch_options(script.slurm));
  std::vector<std::string> words = {program_word(), "train", shell_word(train.store.string())};
  for (std::string& word :
       given_words(command, {"--fanout", "--save-dir", "--memory", "--threads"})) {
    words.push_back(std::move(word));
  }
  if (train.given.contains(recipe::RecipeField::fanout)) {
    words.insert(words.end(), {"--fanout", recipe::format_fanout(train.recipe.fanout)});
  }
  if (array && !train.given.contains(recipe::RecipeField::seed)) {
    words.insert(words.end(), {"--seed", fmt::format("\"{}\"", kTask)});
  }
  const std::string folder = shell_word(train.save_dir.string());
  words.insert(words.end(),
               {"--save-dir", array ? fmt::format("{}/task_\"{}\"", folder, kTask) : folder});
  words.insert(words.end(), {"--memory", fmt::format("{}M", job.limit_bytes / kMiB)});
  // With several ranks, --threads is for each.
  const std::string threads = train.running.ranks > 1 ? fmt::format("{}", train.running.run.threads)
                                                      : "\"$SLURM_CPUS_PER_TASK\"";
  words.insert(words.end(), {"--threads", threads, "--resume", "auto"});
  return words;
}

void print_or_submit(const slurm::ScriptRequest& request, bool submit) {
  const std::string text = slurm::script_text(request);
  if (!submit) {
    fmt::print("{}", text);
    return;
  }
  print("submitted job {}\n", slurm::submit(text));
}

void refuse_given(const CLI::App& command, const char* option, const char* why) {
  if (command.count(option) > 0) fail(ErrorKind::usage, "leave {} out: {}", option, why);
}

void train_script(const CLI::App& command, TrainScript& script) {
  refuse_given(command, "--resume",
               "the job always continues the run in --save-dir if there is one");
  refuse_given(command, "--force", "a job that is requeued must not delete its own run");
  refuse_given(command, "--data-root", "import the data set first, and name its store");
  complete(command, script.train);
  const SlurmOptions& options = script.slurm;
  const unsigned ranks = std::max(1U, script.train.running.ranks);
  const uint64_t seeds = std::max<uint64_t>(1, script.train.seeds);
  if (seeds > 1 && slurm::is_array(sbatch_options(options))) {
    fail(ErrorKind::usage,
         "--seeds {} trains one seed after the other in one job; --sbatch array=0-{} trains them "
         "side by side, each as a task; give one of them",
         seeds, seeds - 1);
  }
  launch::divide_threads(script.train.running, ranks);
  launch::choose_gpu(script.train.running.gpu);
  const launch::JobPlan job = launch::plan_job(
      script.train, {.memory_bytes = options.memory_bytes, .gpus = options.gpus.value_or(0)},
      gpu_facts());
  if (job.seconds == 0 && !options.seconds) {
    fail(ErrorKind::usage,
         "the speed of this machine is not known, so the time cannot be predicted; give --time");
  }
  slurm::RequeuePolicy policy = options.policy;
  if (!options.no_mem && !policy.max_memory_bytes) {
    policy.max_memory_bytes = launch::most_job_bytes(job);
  }
  const bool wants_gpu = job.plan.gpu || job.gpu_elsewhere;
  slurm::ScriptRequest request{
      .made_by = "plimsoll slurm train",
      .job_name = options.job_name.empty() ? slurm::default_job_name(script.train.save_dir)
                                           : options.job_name,
      .folder = fs::current_path().string(),
      .seconds = options.seconds.value_or(launch::job_seconds(job, seeds)),
      .cpus = ranks * script.train.running.run.threads,
      .gpus = options.gpus.value_or(wants_gpu ? ranks : 0),
      .warning_seconds = slurm::warning_seconds(
          job.plan.seconds_an_epoch / static_cast<double>(std::max<uint64_t>(1, job.plan.batches)),
          job.checkpoint_bytes),
      .options = sbatch_options(options),
      .notes = launch::notes_on(job, script.train, {.seeds = seeds, .own_time = !options.seconds}),
      .command = slurm_exec_words(policy)};
  if (!options.no_mem) request.memory_bytes = job.job_bytes;
  for (std::string& word : training_words(command, script, job)) {
    request.command.push_back(std::move(word));
  }
  print_or_submit(request, options.submit);
}

void run_script(const CLI::App& command, const RunScript& script) {
  const std::vector<std::string> words = command.remaining();
  const SlurmOptions& options = script.slurm;
  if (!options.seconds) {
    fail(ErrorKind::usage,
         "give --time: the length of a batch is not known in advance; plimsoll run ... --dry-run "
         "shows what is known from earlier runs");
  }
  if (std::ranges::any_of(words, [](const std::string& word) {
        return word == "--resume" || word.starts_with("--resume=");
      })) {
    fail(ErrorKind::usage,
         "leave --resume out: the job always continues its batch if it has begun");
  }
  experiment::check_run_words(words);
  const bool array = slurm::is_array(sbatch_options(options));
  const std::string name = options.job_name.empty() ? "plimsoll-run" : options.job_name;
  const std::string results =
      shell_word(script.results.empty() ? "results/" + name : script.results);
  slurm::ScriptRequest request{
      .made_by = "plimsoll slurm run",
      .job_name = name,
      .folder = fs::current_path().string(),
      .seconds = options.seconds,
      .cpus = options.cpus.value_or(1),
      .gpus = options.gpus.value_or(0),
      .warning_seconds = slurm::warning_seconds(0, 0),
      .options = sbatch_options(options),
      .notes = {"SIGUSR1 lets the experiment that runs end; what is left runs after a requeue."},
      .command = slurm_exec_words(options.policy)};
  if (!options.no_mem) request.memory_bytes = options.memory_bytes;
  request.command.insert(request.command.end(), {program_word(), "run"});
  for (const std::string& word : words) request.command.push_back(shell_word(word));
  request.command.insert(
      request.command.end(),
      {"--results", array ? fmt::format("{}/task_\"{}\"", results, kTask) : results, "--resume",
       "auto"});
  print_or_submit(request, options.submit);
}

constexpr const char* kSlurmTrainFooter =
    R"(Takes the options of plimsoll train as well. The script asks for the memory and time of the plan.
Before its time limit, or when it is preempted, the job writes a checkpoint and is requeued. If it
runs out of memory, it is submitted again with more. docs/guides/slurm.md explains all of it.

Examples:
  plimsoll slurm train papers.plim --model sage --save-dir models >job.sh; sbatch job.sh
  plimsoll slurm train papers.plim --memory 32G --partition gpu --gpus 1 --submit
  plimsoll slurm train papers.plim --save-dir seeds --sbatch array=0-9 --sbatch qos=long --submit)";

constexpr const char* kRunFooter =
    R"(All other options are those of plimsoll run, which are checked first.

Examples:
  plimsoll slurm run -ec settings.json --time 12h --mem 16G --gpus 1 >job.sh; sbatch job.sh
  plimsoll slurm run -ec settings.json --time 12h --sbatch array=0-3 --submit)";

void add_train_script(CLI::App& slurm) {
  CLI::App* command =
      slurm.add_subcommand("train", "Print the sbatch script of a training, or submit it");
  auto options = std::make_shared<TrainScript>();
  add_train_options(*command, options->train);
  add_slurm_options(*command, options->slurm);
  command->footer(kSlurmTrainFooter);
  command->callback([command, options] { train_script(*command, *options); });
}

void add_run_script(CLI::App& slurm) {
  CLI::App* command = slurm.add_subcommand(
      "run", "Print the sbatch script of a batch of experiments, or submit it");
  auto options = std::make_shared<RunScript>();
  command
      ->add_option("--results", options->results,
                   "folder of the run; default: results/ and the name of the job")
      ->type_name("FOLDER");
  add_slurm_options(*command, options->slurm);
  command->add_option("--cpus-per-task", options->slurm.cpus, "number of CPUs")
      ->type_name("N")
      ->group(kSlurm);
  command->allow_extras();
  command->footer(kRunFooter);
  command->callback([command, options] { run_script(*command, *options); });
}

}  // namespace

void add_slurm(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* command = app.add_subcommand("slurm", "Run trainings and batches as Slurm jobs");
  command->require_subcommand(1);
  add_train_script(*command);
  add_run_script(*command);
  add_slurm_exec(*command, words);
}

}  // namespace plimsoll::cli
