#include "experiment/batch_drive.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "base/error.h"
#include "base/host.h"
#include "base/units.h"
#include "energy/energy_use.h"
#include "experiment/expected_time.h"
#include "experiment/governor.h"
#include "experiment/outputs.h"
#include "gate/policy.h"
#include "meter/gpu.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;
using Recorders = std::vector<std::unique_ptr<energy::Recorder>>;

// One for each experiment that runs at once. The idle power is measured once, on all GPUs.
Recorders open_recorders(const fs::path& folder, const BatchClaim& claim,
                         const std::vector<std::string>& gpus, const DriveOptions& options) {
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
  for (const std::string& handed : gpus) {
    use.gpus = handed;
    recorders.push_back(energy::open_recorder(use));
  }
  return recorders;
}

std::optional<SlurmSteps> find_steps(const ExperimentBatch& batch, const JobOptions& jobs) {
  const unsigned at_once = jobs.at_once.value_or(1);
  if (at_once == 1) return std::nullopt;
  auto steps = slurm_steps(at_once, jobs.gpus_per_job);
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

std::vector<meter::GpuReading> read_gpus(const std::string& gpus) {
  const meter::GpuAccess access = meter::open_gpus();
  if (!access.gpus) return {};
  return gate::choose_gpus(gpus, access.gpus->read_counters(),
                           Host::real().variable("CUDA_VISIBLE_DEVICES"));
}

}  // namespace

BatchClaim claim_for(const ExperimentBatch& batch, const JobOptions& jobs, const std::string& gpus,
                     bool use_steps, const Waiting& waiting) {
  BatchClaim claim{
      .gpus = {}, .jobs = jobs, .steps = use_steps ? find_steps(batch, jobs) : std::nullopt};
  if (!claim.steps) claim.gpus = claim_gpus(gpus, waiting);
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
                const ExperimentBatch& batch, Journal& journal, const DriveOptions& options) {
  const std::string& gpus = claim.gpus.gpus;
  const Governor governor(batch.settings.governor);
  if (!governor.obstacle().empty()) options.say("warning: " + governor.obstacle());
  const std::vector<std::string> handed = hand_out_gpus(claim.gpus, claim.jobs);
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
  MachineWatch machine(gpus.empty() ? "none" : gpus);
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
