#include "launch/job_plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "formats/data_root.h"
#include "launch/planning.h"
#include "launch/rank_steps.h"
#include "launch/train_module.h"
#include "plan/footprint.h"
#include "train/checkpoint_bytes.h"

namespace plimsoll::launch {
namespace {

constexpr uint64_t kUnlimited = uint64_t{1} << 50;
constexpr uint64_t kRounding = 64 * kMiB;

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
  const train::LaunchOptions& run = training.running.run;
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
    planned.limit_bytes +=
        train::kGpuRuntimeBytes -
        (train_library_has_cuda() ? train::kCudaRuntimeBytes : train::kRuntimeBytes);
  }
  planned.job_bytes = job.memory_bytes.value_or(rounded(planned.limit_bytes + kSupervisorBytes));
  planned.checkpoint_bytes =
      2 * train::checkpoint_file_bytes(plan::parameter_bytes(question.work()),
                                       question.recipe.epochs);  // last, best
  planned.seconds = expected_seconds(question, planned.plan);
  return planned;
}

}  // namespace plimsoll::launch
