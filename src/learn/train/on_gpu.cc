#include "train/on_gpu.h"

#include <ATen/Context.h>
#include <ATen/ops/from_blob.h>
#if __has_include(<c10/core/CachingDeviceAllocator.h>)
#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)
#define PLIMSOLL_CAN_EMPTY_CACHE
#endif
#endif
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/units.h"
#include "gpu/cuda_accelerator.h"
#include "gpu/cuda_functions.h"
#include "gpu/emulation.h"
#include "gpu/host_accelerator.h"
#include "memory/buffer.h"
#include "plan/gpu_layout.h"

namespace plimsoll::train {
namespace {

// The folder of the libtorch that this library uses.
std::filesystem::path torch_folder() {
  Dl_info info = {};
  const auto* const function = reinterpret_cast<const void*>(&at::globalContext);
  if (::dladdr(function, &info) == 0 || info.dli_fname == nullptr) return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

std::set<uint32_t> fanouts_of(const recipe::Recipe& recipe) {
  if (recipe.model == recipe::ModelKind::mlp) return {1};
  return {recipe.fanout.begin(), recipe.fanout.end()};
}

std::unique_ptr<gpu::Accelerator> device_for(c10::Device device, std::set<uint32_t> fanouts,
                                             uint64_t limit_bytes, bool tf32) {
  if (gpu::emulated()) return std::make_unique<gpu::HostAccelerator>(limit_bytes);
  gpu::cuda::look_first_in(gpu::cuda::cuda_folders(torch_folder()));
  return std::make_unique<gpu::CudaAccelerator>(
      gpu::CudaAccelerator::Options{.ordinal = device.index(),
                                    .limit_bytes = limit_bytes,
                                    .fanouts = std::move(fanouts),
                                    .tf32 = tf32});
}

gpu::ResidentStore load_store(const OnGpu::Work& job, gpu::Accelerator& device) {
  const graph::Meta& meta = job.store.meta();
  Progress progress(Progress::detect(job.run.quiet));
  const uint64_t lists = job.plan.on_gpu.lines.lists
                             ? (meta.nodes + 1) * sizeof(uint64_t) + meta.edges * sizeof(uint32_t)
                             : 0;
  progress.start_step("loading the store", "bytes", lists + meta.nodes * meta.row_bytes);
  return {
      job.store, device, job.ledger, job.plan.on_gpu.lines, job.run.threads, [&](uint64_t bytes) {
        progress.add(bytes);
        throw_if_interrupted();
      }};
}

// A pass has fewer nodes than this in any case.
uint32_t batch_size_of(const recipe::Recipe& recipe) {
  return static_cast<uint32_t>(std::min<uint64_t>(recipe.batch_size, UINT32_MAX));
}

at::Tensor view(const void* data, at::IntArrayRef sizes, at::IntArrayRef strides,
                at::ScalarType type, c10::Device device) {
  // from_blob takes only pointers to non-const; these tensors are never written to.
  return at::for_blob(const_cast<void*>(data), sizes)
      .strides(strides)
      .options(at::TensorOptions().dtype(type).device(device))
      .target_device(device)
      .make_tensor();
}

// Torch keeps the memory of tensors that are gone, for later ones. Versions that offer no way to
// take it back keep it.
void release_unused_tensors() {
#ifdef PLIMSOLL_CAN_EMPTY_CACHE
  if (auto* const allocator =
          dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(c10::DeviceType::CUDA))) {
    allocator->emptyCache();
  }
#endif
}

std::unique_ptr<gpu::Accelerator> open_gpu(const OnGpu::Work& job) {
  if (!gpu::emulated()) release_unused_tensors();
  const plan::GpuLayout& plan = job.plan.on_gpu;
  // The ledger counts what is taken through this device; the rest is torch's and the driver's.
  const uint64_t limit = plan.limit_bytes - plan.model_bytes - plan::kGpuContextBytes;
  auto opened = device_for(job.device, fanouts_of(job.recipe), limit, job.run.tf32);
  const auto* const cuda = dynamic_cast<const gpu::CudaAccelerator*>(opened.get());
  const uint64_t needed =
      plan.adjacency_bytes + plan.features_bytes + plan.batches_bytes + plan.model_bytes;
  if (cuda != nullptr && cuda->free_bytes() < needed) {
    fail(ErrorKind::memory,
         "{} has {} free, and this takes {} more; stop other programs that use the GPU, "
         "or give it less: --gpu-memory {}",
         cuda->name(), format_bytes(cuda->free_bytes()), format_bytes(needed),
         format_bytes(plan.runtime_bytes + cuda->free_bytes() / 16 * 15));
  }
  return opened;
}

}  // namespace

gpu::GpuRates measure_gpu(c10::Device device, memory::Ledger& ledger) {
  if (gpu::emulated()) return {};
  release_unused_tensors();
  const auto opened =
      device_for(device, {gpu::kMeasuredFanout},
                 gpu::kMeasuringBytes + gpu::CudaAccelerator::kWorkspaceBytes, false);
  return gpu::measure_rates(*opened, ledger);
}

OnGpu::OnGpu(const Work& work)
    : work_(work), device_(open_gpu(work)), store_(load_store(work, *device_)) {}

void OnGpu::prepare(nn::Model& model, nn::Adam* adam) {
  const graph::Meta& meta = work_.store.meta();
  const uint64_t end_bytes = work_.plan.on_gpu.lines.features_end_bytes;
  if (end_bytes < meta.nodes * meta.row_bytes) {
    cold_.emplace(work_.store, *device_, work_.ledger,
                  gpu::ColdOptions{.first_row = end_bytes / meta.row_bytes,
                                   .window_bytes = work_.plan.on_gpu.window_bytes,
                                   .reading = {.price = work_.plan.arrangement.price}});
  }
  model_ = &model;
  adam_ = adam;
  gpu::ModelParameters parameters{.values = model.values().data_ptr<float>(),
                                  .gradients = model.gradients().data_ptr<float>(),
                                  .count = static_cast<uint64_t>(model.parameter_count())};
  if (adam != nullptr) {
    parameters.mean = adam->mean.data_ptr<float>();
    parameters.square = adam->square.data_ptr<float>();
  }
  parameters.layers.resize(static_cast<size_t>(model.shape().layers));
  for (const nn::NamedTensor& named : model.parameters()) {
    auto* const value = named.tensor.data_ptr<float>();
    auto* const gradient = parameters.gradients + (value - parameters.values);
    // "conv1.lin_l.weight": the layer's number counts from 1.
    const size_t dot = named.name.find('.');
    const size_t digit = named.name.find_first_of("0123456789");
    gpu::LayerParameters& layer =
        parameters.layers.at(std::stoul(named.name.substr(digit, dot - digit)) - 1);
    const std::string part = named.name.substr(dot + 1);
    if (part.ends_with("bias")) {
      layer.bias = value;
      layer.bias_gradient = gradient;
    } else if (part == "lin_r.weight") {
      layer.own_weight = value;
      layer.own_weight_gradient = gradient;
    } else {
      layer.weight = value;
      layer.weight_gradient = gradient;
    }
  }
  const plan::GpuLayout& plan = work_.plan.on_gpu;
  gpu::StoreView view = store_.view();
  if (cold_) {
    view.rows.cold = cold_->place();
    view.rows.first_cold = cold_->first();
  }
  network_.emplace(*device_,
                   gpu::NetworkShape{.recipe = work_.recipe,
                                     .columns = meta.feature_columns,
                                     .classes = meta.classes,
                                     .part_seeds = plan.part_seeds,
                                     .longest_pass = plan.longest_pass},
                   view, parameters);
}

void OnGpu::begin(const Epoch& epoch) {
  model_->gradients().zero_();
  network_->begin({.nodes = epoch.split.nodes.span(),
                   .labels = epoch.split.labels.span(),
                   .shuffle = epoch.shuffle_key,
                   .batch_size = batch_size_of(work_.recipe),
                   .first_batch = epoch.first_batch,
                   .draws_key = epoch.draws_key,
                   .dropout_key = epoch.dropout_key,
                   .lr = epoch.lr,
                   .weight_decay = work_.recipe.weight_decay,
                   .steps = static_cast<uint64_t>(adam_->steps)});
  batch_ = epoch.first_batch;
  if (cold_) {
    const uint64_t nodes = epoch.split.nodes.size();
    cold_->begin(*network_, batch_,
                 (nodes + work_.recipe.batch_size - 1) / work_.recipe.batch_size);
  }
}

void OnGpu::train() {
  if (cold_) cold_->prepare(batch_);
  network_->train();
  ++batch_;
  ++adam_->steps;
}

void OnGpu::evaluate(const Evaluation& evaluation, const std::function<void(const Part&)>& take) {
  const uint64_t batch_size = batch_size_of(work_.recipe);
  const uint64_t nodes = evaluation.seeds.size();
  // Whole batches, so that the index of a batch does not depend on the pieces.
  const uint64_t at_once =
      std::max<uint64_t>(1, work_.plan.on_gpu.longest_pass / batch_size) * batch_size;
  const uint64_t most = std::min({nodes, at_once, work_.plan.on_gpu.longest_pass});
  const memory::Buffer<uint32_t> piece(work_.ledger, "evaluation", most);
  const memory::Buffer<int32_t> labels(work_.ledger, "evaluation", most);
  for (uint64_t begin = 0; begin < nodes; begin += at_once) {
    const uint64_t count = std::min(at_once, nodes - begin);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t place = evaluation.seeds.place(begin + i);
      piece[i] = evaluation.seeds.node(place);
      if (!evaluation.labels.empty()) labels[i] = evaluation.labels[place];
    }
    const std::span<const int32_t> all_labels = labels.first(count);
    network_->begin({.nodes = piece.first(count),
                     .labels = evaluation.labels.empty() ? std::span<const int32_t>() : all_labels,
                     .batch_size = batch_size_of(work_.recipe),
                     .base = begin / batch_size,
                     .first_batch = begin / batch_size,
                     .draws_key = evaluation.draws_key});
    const uint64_t first_batch = begin / batch_size;
    if (cold_) {
      cold_->begin(*network_, first_batch, first_batch + (count + batch_size - 1) / batch_size);
    }
    for (uint64_t done = 0; done < count;) {
      if (cold_) cold_->prepare((begin + done) / batch_size);
      const gpu::Network::Part part = network_->evaluate();
      const auto seeds = static_cast<int64_t>(part.seeds);
      Part result{.first = part.first};
      result.outputs.logits =
          view(part.logits, {seeds, static_cast<int64_t>(work_.store.meta().classes)},
               {1, static_cast<int64_t>(part.step)}, at::kFloat, work_.device);
      if (evaluation.embeddings && part.hidden != nullptr) {
        const auto hidden = static_cast<int64_t>(work_.recipe.hidden);
        result.outputs.embeddings =
            view(part.hidden, {seeds, hidden}, {hidden, 1}, at::kFloat, work_.device);
      }
      if (!evaluation.labels.empty()) {
        result.labels = view(part.labels, {seeds}, {1}, at::kInt, work_.device);
      }
      take(result);
      done += part.seeds;
    }
  }
}

uint64_t OnGpu::peak_bytes() const {
  return device_->ledger().peak_bytes() + work_.plan.on_gpu.model_bytes + plan::kGpuContextBytes;
}

}  // namespace plimsoll::train
