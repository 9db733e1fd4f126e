#include "experiment/batch_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <random>
#include <vector>

#include "base/child.h"
#include "base/error.h"
#include "base/host.h"
#include "base/json.h"
#include "base/text_file.h"
#include "base/units.h"
#include "energy/recorder.h"
#include "experiment/expected_time.h"
#include "experiment/machine.h"
#include "experiment/outputs.h"
#include "experiment/record.h"
#include "experiment/run_folder.h"
#include "gate/policy.h"
#include "memory/limit.h"
#include "meter/gpu.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelConfig = "the model config";
constexpr const char* kTheSettings = "the settings";

std::string read_named(const std::string& file, const char* what) {
  if (fs::is_directory(file)) fail(ErrorKind::io, "{} {} is a folder", what, file);
  if (access(file.c_str(), R_OK) != 0) fail_errno("read", fmt::format("{} {}", what, file), errno);
  return read_small_file(file, JsonLimits().bytes);
}

std::string find_catalog(const BatchRequest& request) {
  if (!request.catalog.empty()) return request.catalog;
  std::vector<fs::path> places = {"models_config.json", "config/models_config.json"};
  if (!request.settings.empty()) {
    places.push_back(fs::path(request.settings).parent_path() / "models_config.json");
  }
  for (const fs::path& place : places) {
    if (fs::exists(place)) return place.string();
  }
  // A wrong settings file is the likelier reason, since the model config is looked for beside it.
  if (!request.settings.empty()) read_named(request.settings, kTheSettings);
  fail(ErrorKind::usage, "there is no models_config.json here; give the model config with -c FILE");
}

uint64_t new_seed() {
  std::random_device device;
  return device();
}

}  // namespace

BatchTexts read_texts(const BatchRequest& request) {
  BatchTexts texts{.catalog_file = find_catalog(request),
                   .catalog_text = {},
                   .settings_file = request.settings,
                   .settings_text = {},
                   .words = request.words,
                   .seed = request.seed ? *request.seed : new_seed(),
                   .keys = request.keys,
                   .working_folder = fs::current_path().string(),
                   .max_retries = request.max_retries,
                   .governor = request.governor,
                   .gpus = request.gpus,
                   .jobs = request.jobs,
                   .logs = track::format_logs(request.logs)};
  texts.catalog_text = read_named(texts.catalog_file, kModelConfig);
  if (!request.settings.empty()) texts.settings_text = read_named(request.settings, kTheSettings);
  return texts;
}

Catalog read_named_catalog(const BatchRequest& request, Problems& problems) {
  const std::string file = find_catalog(request);
  return read_catalog(read_named(file, kModelConfig), file, problems);
}

void check_run_words(const std::vector<std::string>& words) {
  std::vector<std::string> check = {kThisProgram, "run"};
  check.insert(check.end(), words.begin(), words.end());
  check.emplace_back("--dry-run");
  ProgramAnswer answer = ask_child({.words = check, .input = "", .with_errors = true});
  if (answer.good()) return;
  while (answer.output.ends_with('\n')) answer.output.pop_back();
  fail(ErrorKind::usage, "plimsoll run cannot use these options:\n{}", answer.output);
}

void report(const Problems& problems, const SayLine& say) {
  for (const auto& group : problems.grouped()) say(describe(group));
  if (problems.notes() > 0) {
    say(fmt::format("notes in the files (they have no effect): {}", problems.notes()));
  }
}

ExperimentBatch planned_batch(const BatchTexts& texts, const SayLine& say) {
  Problems problems(texts.keys);
  ExperimentBatch batch = read_batch(texts, problems);
  check_paths(batch, texts, problems);
  plan_batch(batch, texts, problems);
  report(problems, say);
  if (problems.errors() > 0) {
    fail(ErrorKind::input, "{}; no experiment was started", counted(problems.errors(), "error"));
  }
  return batch;
}

ExperimentBatch journaled_batch(const BatchTexts& texts, const Journal& journal,
                                const fs::path& folder, const SayLine& say) {
  Problems known(texts.keys);
  ExperimentBatch batch = read_batch(texts, known);
  if (known.errors() > 0) {
    report(known, say);
    fail(ErrorKind::input, "the files that {} was started with cannot be used; start a new run",
         folder.string());
  }
  for (const auto& entry : journal.entries()) batch.queue.push_back(experiment_of(entry.plan));
  check_queue(batch);
  complete_queue(batch.queue, batch.catalog);
  return batch;
}

fs::path results_folder(const BatchRequest& request, const ExperimentBatch& batch) {
  return request.results.empty() ? batch.settings.results_folder : request.results;
}

std::optional<fs::path> run_to_continue(const BatchRequest& request) {
  const BatchTexts texts = read_texts(request);
  Problems known(texts.keys);
  const auto newest = newest_run_in(results_folder(request, read_batch(texts, known)));
  if (!newest) return std::nullopt;
  const BatchTexts earlier = parse_texts(read_run(*newest).settings);
  const bool same =
      earlier.settings_text == texts.settings_text && earlier.catalog_text == texts.catalog_text &&
      earlier.words.repository == texts.words.repository &&
      earlier.words.model == texts.words.model && earlier.words.mutate == texts.words.mutate &&
      earlier.words.runs == texts.words.runs && (!request.seed || earlier.seed == texts.seed);
  return same ? newest : std::nullopt;
}

AtOnceOptions changed_jobs(AtOnceOptions earlier, const AtOnceOptions& wanted) {
  if (wanted.at_once) earlier.at_once = wanted.at_once;
  if (wanted.gpus_per_job) earlier.gpus_per_job = wanted.gpus_per_job;
  if (wanted.memory_bytes) earlier.memory_bytes = wanted.memory_bytes;
  return earlier;
}

namespace {

using Recorders = std::vector<std::unique_ptr<energy::Recorder>>;

// One for each experiment that runs at once. The idle power is measured once, on all GPUs.
Recorders open_recorders(const fs::path& folder, const BatchClaim& claim,
                         const std::vector<gate::GpuSelection>& gpus,
                         const BatchRunOptions& options) {
  energy::EnergyUse use{.gpus = claim.gpus.gpus,
                        .idle_baseline_seconds = options.idle_baseline_seconds,
                        .folder = folder,
                        .say = options.say};
  Recorders recorders;
  recorders.push_back(energy::open_recorder(use));
  if (gpus.size() == 1 && gpus.front() == use.gpus) return recorders;
  recorders.clear();
  use.idle_baseline_seconds = 0;  // now it is in the folder
  use.say = [](const std::string&) {};
  for (const gate::GpuSelection& handed : gpus) {
    use.gpus = handed;
    recorders.push_back(energy::open_recorder(use));
  }
  return recorders;
}

std::optional<slurm::SlurmSteps> find_steps(const ExperimentBatch& batch,
                                            const AtOnceOptions& jobs) {
  const unsigned at_once = jobs.at_once.value_or(1);
  if (at_once == 1) return std::nullopt;
  auto steps = slurm::slurm_steps(at_once, jobs.gpus_per_job);
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

std::vector<meter::GpuReading> read_gpus(const gate::GpuSelection& gpus) {
  const meter::GpuAccess access = meter::open_gpus();
  if (!access.gpus) return {};
  return gate::choose_gpus(gpus, access.gpus->read_counters(),
                           Host::real().variable("CUDA_VISIBLE_DEVICES"));
}

void refuse_too_large_entries(const ExperimentBatch& batch, uint64_t limit_bytes) {
  for (const SettingsEntry& entry : batch.settings.entries) {
    const Repository& repository = *batch.catalog.find(entry.foreground.repository);
    const auto own = merged(repository.terms, entry.terms).memory_bytes;
    if (!own || *own <= limit_bytes) continue;
    fail(ErrorKind::usage,
         "{}:{}: the memory of {} is {}, more than --memory {} of all experiments; raise --memory, "
         "or lower the memory in the settings",
         batch.settings.file, entry.line, repository.name, format_bytes(*own),
         format_bytes(limit_bytes));
  }
}

// Sets what the experiments share. Without it, each would plan for the whole machine.
void share_memory(BatchClaim& claim) {
  const unsigned at_once = claim.jobs.at_once.value_or(1);
  if (at_once == 1 || (claim.steps && !claim.jobs.memory_bytes)) return;
  std::string source = "--memory";
  if (!claim.jobs.memory_bytes) {
    const memory::Limit detected = memory::detect_limit();
    claim.jobs.memory_bytes = detected.bytes;
    source = detected.winner + "; --memory sets another limit";
  }
  claim.memory =
      fmt::format("memory: {} for each of {} experiments at once, an equal share of {} ({})",
                  format_bytes(*claim.jobs.memory_bytes / at_once), at_once,
                  format_bytes(*claim.jobs.memory_bytes), source);
}

}  // namespace

BatchClaim claim_for(const ExperimentBatch& batch, const AtOnceOptions& jobs,
                     const std::string& gpus, bool use_steps, const Waiting& waiting) {
  if (jobs.memory_bytes) refuse_too_large_entries(batch, *jobs.memory_bytes);
  BatchClaim claim{.gpus = {},
                   .jobs = jobs,
                   .steps = use_steps ? find_steps(batch, jobs) : std::nullopt,
                   .memory = ""};
  share_memory(claim);
  if (!claim.steps) claim.gpus = claim_gpus(gate::selection_of(gpus), waiting);
  hand_out_gpus(claim.gpus, jobs);  // throws if there are too few
  return claim;
}

Journal create_journal(const fs::path& folder, const BatchTexts& texts,
                       const ExperimentBatch& batch) {
  std::vector<JournalEntry> entries;
  for (const Experiment& experiment : batch.queue) {
    entries.push_back({.number = static_cast<int64_t>(experiment.number),
                       .id = experiment.id,
                       .plan = to_text(experiment),
                       .result = {}});
  }
  return Journal::create(folder, to_text(texts), entries);
}

DriverEnd drive(const fs::path& folder, const BatchClaim& claim, const BatchTexts& texts,
                const ExperimentBatch& batch, Journal& journal, const BatchRunOptions& options) {
  const Governor governor(batch.settings.governor);
  if (!governor.obstacle().empty()) options.say("warning: " + governor.obstacle());
  if (!claim.memory.empty()) options.say(claim.memory);
  const std::vector<gate::GpuSelection> handed = hand_out_gpus(claim.gpus, claim.jobs);
  const bool elsewhere = claim.steps && claim.steps->nodes > 1;
  Recorders recorders(handed.size());
  if (!elsewhere) recorders = open_recorders(folder, claim, handed, options);
  if (claim.steps) {
    options.say(fmt::format(
        "each experiment is a step of Slurm job {}: {}{}", claim.steps->job,
        counted(claim.steps->cpus, "CPU"),
        elsewhere ? "; energy is not measured, because it may run on another node" : ""));
  }
  DriverOptions driving{
      .folder = folder,
      .keep_going = options.keep_going,
      .gpu_wait_seconds = options.gpu_wait_seconds,
      .memory_bytes = claim.jobs.memory_bytes,
      .steps = claim.steps,
      .earlier = earlier_durations(folder.parent_path(), history_tables(batch, texts), folder),
      .say = options.say};
  for (size_t i = 0; i < handed.size(); ++i) {
    driving.places.push_back({.gpus = handed[i], .energy = recorders[i].get()});
  }
  if (!claim.gpus.uuids.empty()) {
    driving.read_gpus = read_gpus;
  } else if (batch.settings.cooldown.automatic) {
    options.say("warning: cooldown auto has no GPU to wait for; give a time such as \"30s\"");
  }
  driving.finished = options.finished;
  note_jobs(journal, driving.places.size());
  MachineWatch machine(claim.gpus.gpus);
  driving.uses_gpu = [&machine](const std::vector<pid_t>& processes) {
    return machine.compute_for(processes);
  };
  if (options.show) {
    driving.show = [&](const BatchProgress& progress) { options.show(progress, machine.read()); };
  }
  return Driver(driving, texts, batch, journal).run();
}

DriverEnd repair_files(const fs::path& folder, const BatchTexts& texts,
                       const ExperimentBatch& batch, Journal& journal,
                       const std::function<void(const std::string&)>& say) {
  const DriverOptions driving{.folder = folder, .earlier = {}, .say = say};
  return Driver(driving, texts, batch, journal).run();
}

}  // namespace plimsoll::experiment
