// Predicts the epochs of a training whose batches the GPU makes: the kinds of work of a batch one
// after the other, each bound by the rows it reads, the values it passes over or the products it
// computes.
#include <algorithm>
#include <cmath>

#include "gpu/network_shape.h"
#include "plan/footprint.h"
#include "plan/timing.h"

namespace plimsoll::plan {
namespace {

using gpu::GpuRates;
using recipe::ModelKind;

// An entry of a list at a random place: a sector of memory. Beginnings are read with their rows.
constexpr double kListBytes = 32;
// Passes over the results of a layer: ReLU reads and writes, the next layer's sums read, their
// gradient reads and writes, the bias reads. Products are counted by themselves.
constexpr double kPasses = 5;
// gat: passes over the products of a layer's sources. Scores, sums, the gradients of weights and of
// the attention's parameters read them, and their own gradient is written.
constexpr double kAttentionPasses = 5;
constexpr double kAttentionKinds = 10;  // of work

double flops_a_second(const GpuRates& rates, double columns) {
  const double place = std::clamp(std::log(columns / GpuRates::kNarrowColumns) /
                                      std::log(GpuRates::kWideColumns / GpuRates::kNarrowColumns),
                                  0.0, 1.0);
  return rates.narrow_flops * std::pow(rates.wide_flops / rates.narrow_flops, place);
}

// Rows at random places, of which `near` lie in the GPU's memory.
double rows_seconds(const GpuRates& rates, double bytes, double near) {
  const double far = near >= 1 ? 0 : bytes * (1 - near) / rates.far_bytes;
  return bytes * near / rates.row_bytes + far;
}

}  // namespace

double predict_gpu_time(const Question& question, const GpuLayout& layout) {
  const GpuRates& rates = question.machine.step.on_gpu;
  if (!rates.known()) return 0;
  const recipe::Recipe& recipe = question.recipe;
  const BatchSize& batch = question.probe.batch;
  const size_t layers = recipe.fanout.size();
  const bool draws = recipe.model != ModelKind::mlp;
  const bool gat = recipe.model == ModelKind::gat;
  const double weights = recipe.model == ModelKind::sage ? 2 : 1;
  const auto part = static_cast<double>(layout.part_seeds);
  const auto positions = gpu::tree_positions(recipe, layout.part_seeds);
  // The positions of a hop that hold a node.
  double filled = part;
  double entries = 0;
  for (size_t hop = 0; draws && hop < batch.hops.size(); ++hop) {
    const HopSize& drawn = batch.hops[hop];
    const double each = static_cast<double>(drawn.edges) /
                        static_cast<double>(std::max<uint64_t>(1, drawn.destinations));
    entries += filled * each;
    filled *= 1 + each;
  }
  const auto row_bytes = static_cast<double>(question.store.row_bytes);
  double seconds = rows_seconds(rates, filled * row_bytes, layout.features_near);
  if (draws) seconds += rows_seconds(rates, entries * kListBytes, layout.adjacency_near);
  double kinds = 6;  // of work, besides those of layers
  for (size_t layer = 0; layer < layers; ++layer) {
    const bool last = layer + 1 == layers;
    const auto rows = static_cast<double>(gpu::multiplied_rows(recipe, positions, layer));
    const auto results = static_cast<double>(positions.at(gpu::hop_of(recipe, layer)));
    const auto in = static_cast<double>(layer == 0 ? question.store.columns : recipe.hidden);
    const auto out = static_cast<double>(last ? question.store.classes : recipe.hidden);
    const double times = layer == 0 ? 2 : 3;
    seconds += weights * times * 2 * rows * in * out / flops_a_second(rates, std::min(in, out));
    double passed = kPasses * results * out;
    if (gat) passed += kAttentionPasses * rows * out + (layer == 0 ? rows * in : 0);
    seconds += passed * sizeof(float) / rates.pass_bytes;
    kinds += weights * times + 4 + (gat ? kAttentionKinds : 0);
  }
  seconds += kinds * rates.start_seconds;
  const uint64_t seeds = std::min(recipe.batch_size, question.store.train_nodes);
  const double parts = std::ceil(static_cast<double>(seeds) / part);
  return static_cast<double>(question.batches()) * parts * seconds;
}

}  // namespace plimsoll::plan
