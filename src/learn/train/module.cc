// The exported functions of the training library.
#include <ATen/Context.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/units.h"
#include "gpu/emulation.h"
#include "gpu/network_shape.h"
#include "gpu/rates.h"
#include "memory/timeline.h"
#include "memory/usage.h"
#include "train/checkpoint.h"
#include "train/data.h"
#include "train/device.h"
#include "train/diary.h"
#include "train/gpu_training.h"
#include "train/inference.h"
#include "train/job.h"
#include "train/pickled_values.h"
#include "train/rank_group.h"
#include "train/step_rates.h"
#include "train/tensor_memory.h"
#include "train/torch_errors.h"
#include "train/trainer.h"

namespace plimsoll::train {
namespace {

constexpr uint64_t kLeastReadingBytes = 16 * kMiB;

// Turns torch's errors into ours. An error of torch that reaches this function is a full GPU or a
// bug.
template <typename Work>
auto guarded(const Work& work) {
  try {
    return work();
  } catch (...) {
    if (const auto error = as_error(std::current_exception())) throw Error(*error);
    throw;
  }
}

// Ranks may have a store each, on a disk of their own host.
void check_same(ranks::Group& group, const TrainJob& job) {
  const auto stores = group.exchange(graph::store_checksum(job.store));
  const auto recipes = group.exchange(recipe::to_json(job.recipe).dump());
  for (unsigned rank = 1; rank < stores.size(); ++rank) {
    if (stores[rank] == stores[0] && recipes[rank] == recipes[0]) continue;
    group.leave();  // all know why
    if (stores[rank] != stores[0]) {
      fail(ErrorKind::store,
           "{} has another store than {}: checksum {} instead of {}; give all hosts the same store",
           rank_name(group, rank), rank_name(group, 0), stores[rank], stores[0]);
    }
    fail(ErrorKind::usage, "{} was started with other options than {}: {} instead of {}",
         rank_name(group, rank), rank_name(group, 0), recipes[rank], recipes[0]);
  }
}

std::string name_of(c10::Device device, const plan::Plan& plan) {
  const std::string name = plan.gpu && gpu::emulated() ? gpu::kEmulatedName : device.str();
  if (!plan.gpu) return name;
  if (plan.on_gpu.draws) return name + ", which makes its batches itself";
  return fmt::format("{}; the CPU makes the batches: {}", name, plan.on_gpu.instead);
}

int run_training(const TrainJob& job) {
  if (job.group != nullptr) check_same(*job.group, job);
  memory::begin_peak();  // do not count the measurement of the machine
  const TensorMemory tensors(job.ledger);
  const c10::Device device =
      choose_device(job.run.device, job.group == nullptr ? 0 : job.group->place().local_rank);
  const memory::Lease runtime = lease_runtime(job.ledger, job.plan.runtime_bytes);
  if (!job.run.quiet) fmt::print("  device    {}\n", name_of(device, job.plan));
  std::fflush(stdout);
  std::filesystem::create_directories(job.save_dir);
  const memory::Timeline timeline(job.ledger);
  std::optional<Diary> diary;
  if (job.group == nullptr || job.group->first()) diary.emplace(job, device.str());
  const Data data = load_data(job.store, job.plan.arrangement, job.run, job.ledger, job.group);
  std::optional<GpuTraining> gpu;
  if (job.plan.on_gpu.draws) {
    gpu.emplace(GpuTraining::Job{job.store, job.recipe, job.plan, job.run, job.ledger, device});
  }
  const uint64_t unplanned = runtime.bytes() - std::min(runtime.bytes(), job.plan.runtime_bytes);
  Trainer trainer(job, {.data = data,
                        .device = device,
                        .timeline = timeline,
                        .needed_bytes = job.plan.needed_bytes + unplanned,
                        .diary = diary ? &*diary : nullptr,
                        .gpu = gpu ? &*gpu : nullptr});
  return trainer.run();
}

// Called before there is a ledger. A checkpoint without its tensors is small, so it is read even if
// the limit is too low for a training: the plan says more about that.
recipe::Recipe read_recipe(const std::filesystem::path& checkpoint, uint64_t limit_bytes) {
  constexpr uint64_t kMost = pickle::kMostPickleBytes + pickle::kMostObjectBytes + kMostValueBytes;
  const uint64_t resident = memory::process_usage().resident_bytes;
  const uint64_t room = limit_bytes - std::min(limit_bytes, resident);
  memory::Ledger ledger(std::clamp(room, kLeastReadingBytes, kMost));
  return read_checkpoint(checkpoint, ledger).recipe;
}

}  // namespace
}  // namespace plimsoll::train

extern "C" const plimsoll::train::Module* plimsoll_train_module() {
  using namespace plimsoll;  // NOLINT: the exported function is outside of the namespace
  static constexpr train::Module kModule = {
      [](const train::TrainJob& job) {
        return train::guarded([&] { return train::run_training(job); });
      },
      [](const train::PredictJob& job) { train::guarded([&] { train::predict(job); }); },
      [](const ranks::RankPlace& place,
         const ranks::GroupOptions& options) -> std::unique_ptr<ranks::Group> {
        return train::guarded([&] { return std::make_unique<train::RankGroup>(place, options); });
      },
      [](const std::filesystem::path& checkpoint, uint64_t limit_bytes) {
        return train::guarded([&] { return train::read_recipe(checkpoint, limit_bytes); });
      },
      [] { return gpu::emulated() || at::hasCUDA(); },
      [](const recipe::Recipe& recipe) {
        return train::guarded([&] {
          return train::gpu_problem(train::choose_device(train::DeviceKind::cuda),
                                    gpu::drawn_fanouts(recipe));
        });
      },
      [](bool gpu, unsigned threads, uint64_t resident_before, memory::Ledger& ledger) {
        return train::guarded([&] {
          const train::TensorMemory tensors(ledger);
          const auto device =
              train::choose_device(gpu ? train::DeviceKind::cuda : train::DeviceKind::cpu);
          const uint64_t resident = memory::process_usage().resident_bytes;
          plan::StepRates rates = train::measure_steps(device, threads);
          if (gpu && train::gpu_problem(device, {gpu::kMeasuredFanout}).empty()) {
            rates.on_gpu = train::measure_gpu(device, ledger);
          }
          rates.library_bytes = resident - std::min(resident, resident_before);
          return rates;
        });
      }};
  return &kModule;
}
