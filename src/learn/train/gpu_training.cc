#include "train/gpu_training.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/units.h"
#include "memory/buffer.h"
#include "plan/gpu_layout.h"
#include "train/device.h"

namespace plimsoll::train {
namespace {

gpu::ResidentStore load_store(const GpuTraining::Job& job, gpu::Accelerator& device) {
  const graph::Meta& meta = job.store.meta();
  Progress progress(Progress::detect(job.run.quiet));
  const uint64_t lists = job.plan.on_gpu.lines.lists
                             ? (meta.nodes + 1) * sizeof(uint64_t) + meta.edges * sizeof(uint32_t)
                             : 0;
  const uint64_t rows =
      std::min(meta.nodes * meta.row_bytes, job.plan.on_gpu.lines.features_end_bytes);
  progress.start_step("loading the store", "bytes", lists + rows);
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

std::unique_ptr<gpu::Accelerator> open_for(const GpuTraining::Job& job) {
  const plan::GpuLayout& plan = job.plan.on_gpu;
  auto opened =
      open_gpu({.ordinal = job.device.index(),
                // The ledger counts what is taken through it; the rest is torch's and the driver's.
                .limit_bytes = plan.limit_bytes - plan.model_bytes - plan::kGpuContextBytes,
                .fanouts = gpu::drawn_fanouts(job.recipe),
                .tf32 = job.run.tf32});
  const uint64_t needed = plan.data_bytes();
  const uint64_t free = opened->free_bytes();
  if (free < needed) {
    fail(ErrorKind::memory,
         "{} has {} free, and this takes {} more; stop other programs that use the GPU, "
         "or give it less: --gpu-memory {}",
         opened->name(), format_bytes(free), format_bytes(needed),
         format_bytes(plan.runtime_bytes + free / 16 * 15));
  }
  return opened;
}

// The parameters of a model on the GPU, where torch keeps them. `adam` may be null.
gpu::ModelParameters parameters_of(nn::Model& model, nn::Adam* adam) {
  gpu::ModelParameters parameters{.values = model.values().data_ptr<float>(),
                                  .gradients = model.gradients().data_ptr<float>(),
                                  .count = static_cast<uint64_t>(model.parameter_count()),
                                  .beta1 = nn::Adam::kBeta1,
                                  .beta2 = nn::Adam::kBeta2,
                                  .epsilon = nn::Adam::kEpsilon};
  if (adam != nullptr) {
    parameters.mean = adam->mean.data_ptr<float>();
    parameters.square = adam->square.data_ptr<float>();
  }
  parameters.layers.resize(static_cast<size_t>(model.shape().layers));
  for (const nn::NamedTensor& parameter : model.parameters()) {
    auto* const value = parameter.tensor.data_ptr<float>();
    auto* const gradient = parameters.gradients + (value - parameters.values);
    gpu::LayerParameters& layer = parameters.layers.at(parameter.layer);
    switch (parameter.role) {
      case nn::ParameterRole::weight:
        layer.weight = value;
        layer.weight_gradient = gradient;
        break;
      case nn::ParameterRole::own_weight:
        layer.own_weight = value;
        layer.own_weight_gradient = gradient;
        break;
      case nn::ParameterRole::att_src:
        layer.att_src = value;
        layer.att_src_gradient = gradient;
        break;
      case nn::ParameterRole::att_dst:
        layer.att_dst = value;
        layer.att_dst_gradient = gradient;
        break;
      case nn::ParameterRole::bias:
        layer.bias = value;
        layer.bias_gradient = gradient;
        break;
      case nn::ParameterRole::other:
        fail(ErrorKind::internal, "a GPU cannot compute with {}", parameter.name);
    }
  }
  return parameters;
}

}  // namespace

GpuTraining::GpuTraining(const Job& job)
    : job_(job), device_(open_for(job)), store_(load_store(job, *device_)) {}

void GpuTraining::prepare(nn::Model& model, nn::Adam* adam) {
  const graph::Meta& meta = job_.store.meta();
  if (store_.first_cold_row() < meta.nodes) {
    cold_.emplace(job_.store, *device_, job_.ledger,
                  gpu::ColdOptions{.first_row = store_.first_cold_row(),
                                   .window_bytes = job_.plan.on_gpu.window_bytes,
                                   .reading = {.price = job_.plan.arrangement.price}});
  }
  model_ = &model;
  adam_ = adam;
  const plan::GpuLayout& plan = job_.plan.on_gpu;
  gpu::StoreView view = store_.view();
  if (cold_) {
    view.rows.cold = cold_->place();
    view.rows.first_cold = cold_->first();
  }
  network_.emplace(*device_,
                   gpu::NetworkShape{.recipe = job_.recipe,
                                     .columns = meta.feature_columns,
                                     .classes = meta.classes,
                                     .part_seeds = plan.part_seeds,
                                     .longest_pass = plan.longest_pass},
                   view, parameters_of(model, adam));
}

void GpuTraining::begin(const Epoch& epoch) {
  model_->gradients().zero_();
  network_->begin({.nodes = epoch.split.nodes.span(),
                   .labels = epoch.split.labels.span(),
                   .shuffle = epoch.shuffle_key,
                   .batch_size = batch_size_of(job_.recipe),
                   .first_batch = epoch.first_batch,
                   .draws_key = epoch.draws_key,
                   .dropout_key = epoch.dropout_key,
                   .lr = epoch.lr,
                   .weight_decay = job_.recipe.weight_decay,
                   .steps = static_cast<uint64_t>(adam_->steps)});
  batch_ = epoch.first_batch;
  if (cold_) {
    const uint64_t nodes = epoch.split.nodes.size();
    cold_->begin(*network_, batch_, (nodes + job_.recipe.batch_size - 1) / job_.recipe.batch_size);
  }
}

void GpuTraining::train() {
  if (cold_) cold_->prepare(batch_);
  network_->train();
  ++batch_;
  ++adam_->steps;
}

void GpuTraining::evaluate(const EvaluationOrder& order,
                           const std::function<void(const EvaluatedPart&)>& take) {
  const uint64_t batch_size = batch_size_of(job_.recipe);
  const uint64_t nodes = order.seeds.size();
  // Whole batches, so that the index of a batch does not depend on the pieces.
  const uint64_t at_once =
      std::max<uint64_t>(1, job_.plan.on_gpu.evaluated_nodes / batch_size) * batch_size;
  const uint64_t most = std::min(nodes, at_once);
  const memory::Buffer<uint32_t> piece(job_.ledger, "evaluation", most);
  const memory::Buffer<int32_t> labels(job_.ledger, "evaluation", most);
  for (uint64_t begin = 0; begin < nodes; begin += at_once) {
    const uint64_t count = std::min(at_once, nodes - begin);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t place = order.seeds.place(begin + i);
      piece[i] = order.seeds.node(place);
      if (!order.labels.empty()) labels[i] = order.labels[place];
    }
    const std::span<const int32_t> all_labels = labels.first(count);
    network_->begin({.nodes = piece.first(count),
                     .labels = order.labels.empty() ? std::span<const int32_t>() : all_labels,
                     .batch_size = batch_size_of(job_.recipe),
                     .base = begin / batch_size,
                     .first_batch = begin / batch_size,
                     .draws_key = order.draws_key});
    const uint64_t first_batch = begin / batch_size;
    if (cold_) {
      cold_->begin(*network_, first_batch, first_batch + (count + batch_size - 1) / batch_size);
    }
    for (uint64_t done = 0; done < count;) {
      if (cold_) cold_->prepare((begin + done) / batch_size);
      const gpu::Network::Part part = network_->evaluate();
      const auto seeds = static_cast<int64_t>(part.seeds);
      EvaluatedPart result{.first = part.first};
      result.outputs.logits =
          view(part.logits, {seeds, static_cast<int64_t>(job_.store.meta().classes)},
               {1, static_cast<int64_t>(part.step)}, at::kFloat, job_.device);
      if (order.embeddings && part.hidden != nullptr) {
        const auto hidden = static_cast<int64_t>(job_.recipe.hidden);
        result.outputs.embeddings =
            view(part.hidden, {seeds, hidden}, {hidden, 1}, at::kFloat, job_.device);
      }
      if (!order.labels.empty()) {
        result.labels = view(part.labels, {seeds}, {1}, at::kInt, job_.device);
      }
      take(result);
      done += part.seeds;
    }
  }
}

batch::ReadCounts GpuTraining::reads() const {
  if (!cold_) return {};
  const io::ReadQueue::Counts counts = cold_->reads();
  return {.method = cold_->method(),
          .reads = counts.reads,
          .bytes = counts.bytes,
          .seconds = counts.seconds,
          .rows_on_disk = cold_->rows_read(),
          .windows = cold_->windows(),
          .window_batches = cold_->window_batches()};
}

GpuMemoryUse GpuTraining::memory() const {
  const plan::GpuLayout& plan = job_.plan.on_gpu;
  memory::Ledger& ledger = device_->ledger();
  const std::vector<memory::Ledger::Usage> usage = ledger.usage();
  GpuMemoryUse memory{.name = device_->name(),
                      .limit_bytes = plan.limit_bytes,
                      .planned_bytes = plan.peak_bytes(),
                      .peak_bytes = ledger.peak_bytes() + plan.model_bytes + plan::kGpuContextBytes,
                      .parts = {}};
  for (const plan::MemoryPart& part : plan::gpu_parts(plan)) {
    const auto taken = std::ranges::find(usage, part.name, &memory::Ledger::Usage::tag);
    memory.parts.push_back({.name = part.name,
                            .planned_bytes = part.bytes,
                            .taken_bytes = taken == usage.end() ? std::optional<uint64_t>()
                                                                : std::optional(taken->bytes)});
  }
  return memory;
}

}  // namespace plimsoll::train
