#include "launch/job_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "formats/data_root.h"
#include "launch/planning.h"
#include "launch/rank_steps.h"
#include "launch/train_module.h"
#include "launch/training_device.h"
#include "plan/footprint.h"
#include "train/footprint.h"

namespace plimsoll::launch {
namespace {

constexpr uint64_t kUnlimited = uint64_t{1} << 50;
constexpr uint64_t kRounding = 64 * kMiB;
constexpr double kTimeMargin = 1.5;
constexpr double kStartSeconds = 600;  // to load the store, and for a busy node
constexpr uint64_t kMostMemoryFactor = 2;

uint64_t rounded(uint64_t bytes) { return (bytes + kRounding - 1) / kRounding * kRounding; }

uint64_t least_limit(const plan::Plan& plan) {
  const auto with_share =
      static_cast<uint64_t>(static_cast<double>(plan.peak_bytes) / (1 - plan::kHeadroomShare));
  return rounded(std::max(plan.peak_bytes + plan::kLeastHeadroomBytes, with_share));
}

double expected_seconds(const plan::Question& question, const plan::Plan& plan) {
  const plan::StoreShape& store = question.store;
  const double evaluated = static_cast<double>(store.evaluated_nodes) /
                           static_cast<double>(std::max<uint64_t>(1, store.train_nodes)) /
                           static_cast<double>(question.recipe.log_steps);
  return plan.seconds_an_epoch * static_cast<double>(question.recipe.epochs) * (1 + evaluated);
}

}  // namespace

JobPlan plan_job(const TrainRequest& training, const JobRequest& job, const GpuFacts& gpus) {
  const graph::Store store = formats::open_store(training.store);
  check_trainable(store, training.recipe);
  const train::Execution& run = training.running.run;
  const bool wants_gpu = run.device == train::DeviceKind::cuda || job.gpus > 0;
  JobPlan planned;
  planned.gpu_elsewhere = wants_gpu && (gpus.usable.empty() || !gpus.built_with_cuda);
  const auto device = planned.gpu_elsewhere ? TrainingDevice() : training_device(run.device, gpus);
  const unsigned ranks = std::max(1U, training.running.ranks);  // all on one node
  check_for_ranks(training.recipe, ranks);
  Planner planner({store}, {.run = run, .device = device, .ranks = ranks, .host_ranks = ranks});
  uint64_t most = training.running.memory_bytes.value_or(kUnlimited);
  if (job.memory_bytes) {
    most = std::min(most, *job.memory_bytes - std::min(*job.memory_bytes, kSupervisorBytes));
  }
  plan::Question question = planner.question(training.recipe, most);
  planned.plan = plan::make_plan(question);
  if (!planned.plan.fits) {
    fail(ErrorKind::memory, "{}",
         explain_shortage(planned.plan, question, planner.remedies(question)));
  }
  planned.limit_bytes = std::min(most, least_limit(planned.plan));
  question.limit_bytes = planned.limit_bytes;
  planned.plan = plan::make_plan(question);
  if (planned.gpu_elsewhere) {
    planned.limit_bytes += train::kGpuRuntimeBytes - usual_runtime_bytes(/*gpu=*/false);
  }
  planned.job_bytes = job.memory_bytes.value_or(rounded(planned.limit_bytes + kSupervisorBytes));
  planned.checkpoint_bytes =
      2 * train::checkpoint_file_bytes(plan::parameter_bytes(question.work()),
                                       question.recipe.epochs);  // last, best
  planned.seconds = expected_seconds(question, planned.plan);
  return planned;
}

double job_seconds(const JobPlan& job, uint64_t seeds) {
  return static_cast<double>(seeds) * (job.seconds * kTimeMargin + kStartSeconds);
}

uint64_t most_job_bytes(const JobPlan& job) { return kMostMemoryFactor * job.job_bytes; }

std::vector<std::string> notes_on(const JobPlan& job, const TrainRequest& training,
                                  const NoteFacts& facts) {
  std::vector<std::string> notes = {
      fmt::format("Memory: the training takes {} at its peak (plimsoll plan); its limit is {}.",
                  format_bytes(job.plan.peak_bytes), format_bytes(job.limit_bytes))};
  if (facts.own_time) {
    notes.push_back(fmt::format(
        "Time: {}{} x {} an epoch on this machine, with evaluations, and half as much again.{}",
        facts.seeds > 1 ? fmt::format("{} seeds x ", facts.seeds) : "", training.recipe.epochs,
        format_seconds(job.plan.seconds_an_epoch), job.gpu_elsewhere ? " It has no GPU." : ""));
  }
  notes.emplace_back(
      "If time is too short, the job is requeued and the training continues where it stopped.");
  return notes;
}

}  // namespace plimsoll::launch
