#include "train/step_rates.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/units.h"
#include "batch/assemble.h"
#include "gpu/cuda_accelerator.h"
#include "gpu/emulation.h"
#include "gpu/rates.h"
#include "nn/model.h"
#include "nn/operations.h"
#include "nn/threads.h"
#include "plan/making_rates.h"
#include "plan/measuring.h"
#include "plan/timing.h"
#include "train/device.h"
#include "train/inference.h"

namespace plimsoll::train {
namespace {

using plan::StepRates;
using recipe::ModelKind;

constexpr double kSeconds = 0.05;  // per measurement
constexpr double kDropout = 0.5;
constexpr int64_t kHeads = 8;

// Calls of `work` per second; waits until a GPU has finished. `work` returns the tensor that it
// made last. A single CPU thread is timed by its CPU time, so that other programs do not count.
template <typename Work>
double rate_of(const Work& work) {
  bool gpu = false;
  const auto repeat = [&](uint64_t count) {
    at::Tensor last;
    for (uint64_t i = 0; i < count; ++i) last = work();
    gpu = !last.is_cpu();
    if (gpu) last.flatten().narrow(0, 0, 1).to(at::kCPU);
  };
  repeat(1);
  const bool alone = !gpu && nn::computing_threads() == 1;
  return plan::measure_rate({.seconds = kSeconds}, repeat,
                            alone ? plan::thread_cpu_seconds : plan::steady_seconds);
}

struct BlockSize {
  int64_t destinations = 0;
  int64_t sources = 0;
  int64_t degree = 0;
};

BlockSize block_size(int64_t more) {
  return {.destinations = 1024 * more, .sources = 8192 * more, .degree = 12};
}

// Lists of equal length with uniformly drawn sources, on the CPU, with scales as for gcn.
nn::BlockTensors make_block(const BlockSize& size) {
  const auto whole = at::TensorOptions().dtype(at::kInt);
  const int64_t edges = size.destinations * size.degree;
  nn::BlockTensors block{.destinations = size.destinations,
                         .sources = size.sources,
                         .offsets = at::arange(0, edges + 1, size.degree, whole),
                         .indices = at::randint(size.sources, {edges}, whole),
                         .source_offsets = at::empty({size.sources + 2}, whole),
                         .by_source = at::empty({edges}, whole),
                         .source_edges = at::empty({edges}, whole),
                         .destination_scale = at::ones({size.destinations}),
                         .source_scale = at::ones({size.sources}),
                         .self_scale = at::ones({size.destinations})};
  const auto span = [](const at::Tensor& tensor) {
    return std::span(reinterpret_cast<uint32_t*>(tensor.data_ptr<int32_t>()),
                     static_cast<size_t>(tensor.numel()));
  };
  const batch::Block view = {.destinations = static_cast<uint32_t>(size.destinations),
                             .sources = static_cast<uint32_t>(size.sources),
                             .offsets = span(block.offsets),
                             .indices = span(block.indices)};
  batch::sort_by_source(
      view, {span(block.source_offsets), span(block.by_source), span(block.source_edges)});
  block.source_offsets = block.source_offsets.narrow(0, 0, size.sources + 1);
  return block;
}

// The size of the batches of a measurement.
struct Look {
  uint32_t columns = 0;
  uint64_t seeds = 0;
  std::vector<uint32_t> fanout;  // empty for an mlp
};

// A graph whose nodes have ten neighbours each, and a pipeline that makes batches from it.
class MadeUpBatches {
 public:
  MadeUpBatches(ModelKind kind, const Look& look, c10::Device device)
      : values_(ledger_, "calibration", uint64_t{kNodes} * look.columns),
        topology_(plan::make_topology({.nodes = kNodes, .degree = 10, .key = 1}, ledger_)),
        rows_({.data = reinterpret_cast<const unsigned char*>(values_.data()),
               .row_bytes = look.columns * sizeof(float),
               .count = kNodes,
               .columns = look.columns}),
        place_{topology_, {.workers = 1, .ahead = 2}, device, ledger_},
        seeds_(look.seeds),
        nodes_(kNodes),
        labels_(kNodes),
        feed_(place_, rows_,
              {.fanout = look.fanout, .assembly = batch::assembly_for(kind, recipe::Norm::full)}) {
    std::ranges::fill(values_.span(), 0.5F);
    std::iota(nodes_.begin(), nodes_.end(), 0);
  }
  // The next batch, with its tensors on the device; done() gives it back.
  const FedBatch& next() {
    FedBatch* fed = &feed_.feeder.next();
    if (fed->batch == nullptr) {
      feed_.feeder.start({.seeds = batch::Seeds::in_order(nodes_),
                          .labels = labels_,
                          .batch_size = seeds_,
                          .gradients = true});
      fed = &feed_.feeder.next();
    }
    return *fed;
  }
  void done() { feed_.feeder.done(); }

 private:
  static constexpr uint32_t kNodes = 1 << 16;

  memory::Ledger ledger_{192 * kMiB};
  memory::Buffer<float> values_;
  sample::Topology topology_;
  feature::RowSource rows_;
  Place place_;
  uint64_t seeds_;
  std::vector<uint32_t> nodes_;
  std::vector<int32_t> labels_;
  BatchFeed feed_;  // the last: its threads read all others until they end
};

// A model and its optimizer.
class Learner {
 public:
  Learner(const nn::ModelShape& shape, c10::Device device)
      : model_(shape, 1, device), adam_(model_.values()) {}

  // Returns the loss.
  at::Tensor step(const nn::BatchTensors& tensors) {
    model_.gradients().zero_();
    const at::Tensor logits = model_.forward(tensors, /*training=*/true, 1).logits;
    const nn::Loss loss = nn::cross_entropy(logits, tensors.labels, 0, logits.size(0));
    model_.backward(loss.gradient);
    adam_.step(model_.values(), model_.gradients(), 1e-3, 0);
    return loss.sum;
  }

 private:
  nn::Model model_;
  nn::Adam adam_;
};

// Seconds of a whole step with almost no data, from taking a batch to the updated parameters.
double fixed_seconds(ModelKind kind, int64_t layers, c10::Device device) {
  constexpr int64_t kColumns = 8;
  Learner learner({.kind = kind,
                   .inputs = kColumns,
                   .hidden = kColumns,
                   .classes = kColumns,
                   .layers = layers,
                   .heads = kind == ModelKind::gat ? 2 : 1,
                   .dropout = kDropout},
                  device);
  const auto hops = kind == ModelKind::mlp ? 0 : static_cast<size_t>(layers);
  MadeUpBatches batches(kind, {kColumns, 4, std::vector<uint32_t>(hops, 2)}, device);
  return 1 / rate_of([&] {
           at::Tensor loss = learner.step(batches.next().tensors.value());
           batches.done();
           return loss;
         });
}

// How many times longer a typical step takes than the rates predict, because matrices are larger
// than the caches and because of everything that no rate covers.
double slowdown_of(ModelKind kind, const StepRates& rates, c10::Device device) {
  constexpr int64_t kColumns = 128;
  const Look look = {kColumns, 1024, {10, 5}};
  Learner learner({.kind = kind,
                   .inputs = kColumns,
                   .hidden = kColumns,
                   .classes = kColumns,
                   .layers = 2,
                   .heads = kind == ModelKind::gat ? kHeads : 1,
                   .dropout = kDropout},
                  device);
  MadeUpBatches batches(kind, look, device);
  const nn::BatchTensors& tensors = batches.next().tensors.value();
  const double seconds = 1 / rate_of([&] { return learner.step(tensors); });
  const nn::BlockTensors& last = tensors.blocks.back();
  const auto count = [](int64_t value) { return static_cast<uint64_t>(value); };
  const nn::BlockTensors& first = tensors.blocks.front();
  plan::Question question{
      .store = {.columns = kColumns, .classes = kColumns},
      .recipe = {.model = kind, .fanout = look.fanout, .hidden = kColumns},
      .probe = {.batch = {.seeds = look.seeds,
                          .nodes = count(first.sources),
                          .hops = {{look.seeds, count(last.indices.size(0))},
                                   {count(last.sources), count(first.indices.size(0))}}}}};
  question.machine.step = rates;
  const double fixed = rates.of(kind).base + 2 * rates.of(kind).layer;
  const double by_rates = plan::step_seconds(question, rates.threads) - fixed;
  return std::clamp((seconds - fixed) / by_rates, 1.0, 4.0);
}

// Forward and the gradient of the weights: two products of rows x in x out.
double flops(int64_t rows, int64_t in, int64_t out, c10::Device device) {
  nn::Model model({.kind = ModelKind::mlp, .inputs = in, .classes = out, .layers = 1}, 1, device);
  const nn::BatchTensors batch = {.input = at::rand({rows, in}).to(device)};
  const at::Tensor gradient = at::full({rows, out}, 1e-3).to(device);
  const double steps = rate_of([&] {
    at::Tensor logits = model.forward(batch, /*training=*/true).logits;
    model.backward(gradient);
    return logits;
  });
  return steps * 2 * 2 * static_cast<double>(rows * in * out);
}

double activations(int64_t rows, int64_t columns, c10::Device device) {
  at::Tensor values = at::rand({rows, columns}).to(device);
  at::Tensor gradient = at::rand({rows, columns}).to(device);
  const at::Tensor nodes = at::arange(rows, at::TensorOptions().dtype(at::kInt)).to(device);
  return static_cast<double>(rows * columns) * rate_of([&] {
           nn::relu_dropout_in_place(values, nodes, {kDropout, 1});
           nn::relu_dropout_backward_in_place(gradient, values, kDropout);
           return gradient;
         });
}

nn::BlockTensors on_device(const nn::BlockTensors& block, c10::Device device) {
  return to_device(nn::BatchTensors{.blocks = {block}}, device).blocks.front();
}

double sums(const BlockSize& size, int64_t columns, c10::Device device) {
  const nn::BlockTensors block = on_device(make_block(size), device);
  const at::Tensor x = at::rand({size.sources, columns}).to(device);
  const auto edges = static_cast<double>(size.destinations * (size.degree + 1));
  return 2 * edges * static_cast<double>(columns) *
         rate_of([&] { return nn::aggregate_backward(nn::aggregate(x, block), block); });
}

double attention(const BlockSize& size, int64_t columns, c10::Device device) {
  const nn::BlockTensors block = on_device(make_block(size), device);
  const at::Tensor z = at::rand({size.sources, columns}).to(device);
  const at::Tensor own = at::rand({1, kHeads, columns / kHeads}).to(device);
  const at::Tensor gradient = at::rand({size.destinations, columns}).to(device);
  const auto edges = static_cast<double>(size.destinations * (size.degree + 1));
  return edges * static_cast<double>(columns) * rate_of([&] {
           const nn::AttentionArguments arguments = {z, own, own, block};
           return nn::attend_backward(arguments, gradient, nn::attend(arguments)).z;
         });
}

double losses(int64_t rows, int64_t classes, c10::Device device) {
  const at::Tensor logits = at::rand({rows, classes}).to(device);
  const at::Tensor labels = at::zeros({rows}, at::TensorOptions().dtype(at::kInt)).to(device);
  return static_cast<double>(rows * classes) *
         rate_of([&] { return nn::cross_entropy(logits, labels, 0, rows).gradient; });
}

double parameters(int64_t count, c10::Device device) {
  at::Tensor values = at::zeros({count}).to(device);
  at::Tensor gradients = at::full({count}, 1e-3).to(device);
  nn::Adam adam(values);
  return static_cast<double>(count) * rate_of([&] {
           adam.step(values, gradients, 1e-3, 0);
           return values;
         });
}

double copied_bytes(c10::Device device) {
  constexpr int64_t kBytes = 16 << 20;
  const at::Tensor pinned =
      at::empty({kBytes}, at::TensorOptions().dtype(at::kByte).pinned_memory(true));
  return static_cast<double>(kBytes) *
         rate_of([&] { return pinned.to(device, at::kByte, /*non_blocking=*/true); });
}

}  // namespace

StepRates measure_steps(c10::Device device, unsigned threads) {
  StepRates rates{.threads = threads, .device = device.str()};
  nn::set_computing_threads(threads);
  for (const ModelKind kind : {ModelKind::gcn, ModelKind::sage, ModelKind::gat, ModelKind::mlp}) {
    const double two = fixed_seconds(kind, 2, device);
    const double three = fixed_seconds(kind, 3, device);
    const double layer = std::clamp(three - two, 0.0, two / 2);
    rates.fixed.at(static_cast<size_t>(kind)) = {two - 2 * layer, layer};
  }
  // GPUs and several threads reach their full speed only with more work.
  constexpr int64_t kMuch = 8;
  constexpr auto kWide = static_cast<int64_t>(StepRates::kWide);
  constexpr auto kNarrow = static_cast<int64_t>(StepRates::kNarrow);
  const auto products = [&](int64_t more) { return flops(4096 * more, 128, kWide, device); };
  const auto added_up = [&](int64_t more) { return sums(block_size(more), kWide, device); };
  const double all_flops = products(kMuch);
  const double all_sums = added_up(kMuch);
  const double all_attention = attention(block_size(kMuch), kWide, device);
  const int64_t more = device.is_cpu() ? 1 : kMuch;
  nn::set_computing_threads(1);
  rates.narrow_flops = flops(4096 * more, 128, kNarrow, device);
  rates.wide_flops = device.is_cpu() ? products(1) : all_flops;
  rates.activations = activations(4096 * more, kWide, device);
  rates.sums = device.is_cpu() ? added_up(1) : all_sums;
  rates.losses = losses(1024 * more, 128, device);
  rates.parameters = parameters(1 << 17, device);
  if (device.is_cpu()) {
    rates.product_gain = std::max(1.0, all_flops / rates.wide_flops);
    rates.pass_gain = std::max(1.0, all_sums / rates.sums);
  } else {
    rates.copied_bytes = copied_bytes(device);
  }
  // Measured with all threads, because attention is mostly computed by all of them and gains less
  // from threads than sums do.
  rates.attention = all_attention / rates.pass_gain;
  nn::set_computing_threads(threads);
  if (device.is_cpu()) {
    for (const ModelKind kind : {ModelKind::gcn, ModelKind::sage, ModelKind::gat}) {
      rates.slowdown.at(static_cast<size_t>(kind)) = slowdown_of(kind, rates, device);
    }
  }
  return rates;
}

gpu::GpuRates measure_gpu(c10::Device device, memory::Ledger& ledger) {
  if (gpu::emulated()) return {};
  const auto opened =
      open_gpu({.ordinal = device.index(),
                .limit_bytes = gpu::kMeasuringBytes + gpu::CudaAccelerator::kWorkspaceBytes,
                .fanouts = {gpu::kMeasuredFanout}});
  return gpu::measure_rates(*opened, ledger);
}

}  // namespace plimsoll::train
