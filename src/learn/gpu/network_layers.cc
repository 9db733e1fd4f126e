// The work of a network's batch, in the order in which it is computed.
#include <algorithm>
#include <cstddef>

#include "gpu/network.h"

namespace plimsoll::gpu {

float Network::keep_scale() const {
  return static_cast<float>(1.0 / (1.0 - shape_.recipe.dropout));
}

// The values that the layer's weight is multiplied with.
const float* Network::multiplied(size_t layer) const {
  if (layer == 0) return input_.data();
  return sums_first() ? sums_[layer - 1].data() : values_[layer - 1].data();
}

const float* Network::own_values(size_t layer) const {
  return layer == 0 ? own_.data() : values_[layer - 1].data();
}

// The last layer's are kept by class.
LayerResults Network::results_of(size_t layer) const {
  if (is_last(layer)) {
    return {.values = logits_.data(), .row_step = 1, .column_step = results(layer)};
  }
  return {.values = values_[layer].data(), .row_step = outputs(layer), .column_step = 1};
}

void Network::draw(BatchState* state) {
  const auto seeds = static_cast<uint32_t>(positions_.front());
  device_.run(BeginPart{.pass = pass_.data(),
                        .state = state,
                        .part_seeds = shape_.part_seeds,
                        .hops = static_cast<uint32_t>(layers())});
  device_.run(TakeSeeds{.pass = pass_.data(),
                        .state = state,
                        .nodes = nodes_.data(),
                        .labels = labels_.data(),
                        .threads = seeds});
  for (size_t hop = 0; hop + 1 < positions_.size(); ++hop) {
    device_.run_drawing(DrawHop{.lists = store_.lists,
                                .state = state,
                                .nodes = nodes_.data(),
                                .hop = static_cast<uint32_t>(hop),
                                .fanout = shape_.recipe.fanout[hop],
                                .threads = static_cast<uint32_t>(positions_[hop])});
  }
}

// Without sums: the rows themselves.
void Network::sum_rows() {
  SumRows sum = {.lists = store_.lists,
                 .rows = store_.rows,
                 .state = state_.data(),
                 .nodes = nodes_.data(),
                 .roots = roots_.data(),
                 .sums = sums_first() ? input_.data() : nullptr,
                 .own = sums_first() ? own_.data() : input_.data(),
                 .degrees = degrees_.data(),
                 .weights = weights_,
                 .hop = static_cast<uint32_t>(layers() - 1),
                 .fanout = draws() ? shape_.recipe.fanout.back() : 1,
                 .lanes = lanes_of(shape_.columns)};
  sum.threads = static_cast<uint32_t>(positions_.back()) * sum.lanes;
  device_.run_drawing(sum);
}

// The last layer's results are kept by class.
void Network::multiply_layer(size_t layer) {
  const LayerParameters& weights = parameters_.layers.at(layer);
  const uint64_t rows = results(layer);
  const uint64_t in = inputs(layer);
  const uint64_t out = outputs(layer);
  const auto multiply = [&](const float* values, const float* weight, bool add) {
    if (is_last(layer)) {
      device_.multiply({.rows = out,
                        .columns = rows,
                        .inner = in,
                        .a = weight,
                        .a_step = in,
                        .b = values,
                        .b_step = in,
                        .b_transposed = true,
                        .c = logits_.data(),
                        .c_step = rows,
                        .add = add});
    } else {
      device_.multiply({.rows = rows,
                        .columns = out,
                        .inner = in,
                        .a = values,
                        .a_step = in,
                        .b = weight,
                        .b_step = in,
                        .b_transposed = true,
                        .c = values_[layer].data(),
                        .c_step = out,
                        .add = add});
    }
  };
  multiply(multiplied(layer), weights.weight, false);
  if (sage()) multiply(own_values(layer), weights.own_weight, true);
}

void Network::sum_tree(size_t layer) {
  SumTree sum = {.x = values_[layer - 1].data(),
                 .sums = sums_[layer - 1].data(),
                 .degrees = degrees_.data(),
                 .roots = roots_.data(),
                 .weights = weights_,
                 .positions = static_cast<uint32_t>(results(layer)),
                 .fanout = fanout_of(layer),
                 .columns = static_cast<uint32_t>(inputs(layer)),
                 .lanes = lanes_of(inputs(layer))};
  sum.threads = sum.positions * sum.lanes;
  device_.run(sum);
}

void Network::forward(bool training) {
  draw(state_.data());
  sum_rows();
  for (size_t layer = 0; layer < layers(); ++layer) {
    if (gat()) {
      attend(layer);
    } else {
      if (layer > 0 && sums_first()) sum_tree(layer);
      multiply_layer(layer);
    }
    if (is_last(layer)) break;
    const double share = training ? shape_.recipe.dropout : 0;
    Activate activate = {
        .x = values_[layer].data(),
        .bias = parameters_.layers[layer].bias,
        .nodes = nodes_.data(),
        .state = state_.data(),
        .layer = static_cast<uint32_t>(layer),
        .columns = static_cast<uint32_t>(outputs(layer)),
        .share_threshold = static_cast<uint32_t>(std::min(share * 0x1p32, 0x1p32 - 1)),
        .scale = training ? keep_scale() : 1.0F,
        .lanes = lanes_of(outputs(layer))};
    activate.threads = static_cast<uint32_t>(results(layer)) * activate.lanes;
    device_.run(activate);
  }
  const auto classes = static_cast<uint32_t>(shape_.classes);
  device_.run(AddBias{.logits = logits_.data(),
                      .bias = parameters_.layers.back().bias,
                      .chunks = training ? chunks_.data() : nullptr,
                      .classes = classes,
                      .seeds = shape_.part_seeds,
                      .threads = chunks_of(classes) * shape_.part_seeds});
}

// Adds up the loss of the seeds, and replaces the logits by their gradient.
void Network::compute_loss() {
  const auto classes = static_cast<uint32_t>(shape_.classes);
  const auto smoothing = static_cast<float>(shape_.recipe.label_smoothing);
  device_.run(SeedLosses{.logits = logits_.data(),
                         .chunks = chunks_.data(),
                         .labels = labels_.data(),
                         .state = state_.data(),
                         .figures = figures_.data(),
                         .losses = seed_losses_.data(),
                         .smoothing = smoothing,
                         .classes = classes,
                         .threads = shape_.part_seeds});
  device_.run(LossGradient{.logits = logits_.data(),
                           .labels = labels_.data(),
                           .figures = figures_.data(),
                           .state = state_.data(),
                           .smoothing = smoothing,
                           .classes = classes,
                           .seeds = shape_.part_seeds,
                           .threads = chunks_of(classes) * shape_.part_seeds});
  add_up_rows(
      {.values = seed_losses_.data(), .row_step = 1, .rows = shape_.part_seeds, .columns = 1},
      &state_.data()->loss);
}

// out[c] += the sum of the rows of column c. Partial sums are rows again, until there are few of
// them.
void Network::add_up_rows(const AddRows& rows, float* out) {
  AddRows task = rows;
  float* to = partial_sums_.data();
  do {
    const uint32_t sums = partial_sums_of(task.rows);
    task.partial_sums = to;
    task.threads = sums * task.columns;
    device_.run(task);
    task.values = to;
    task.factors = nullptr;
    task.row_step = task.columns;
    task.column_step = 1;
    task.rows = sums;
    to += task.threads;
  } while (task.rows > kPartialSumRows);
  device_.run(AddPartialSums{
      .partial_sums = task.values, .out = out, .count = task.rows, .threads = task.columns});
}

void Network::backward() {
  for (size_t layer = layers(); layer-- > 0;) backward_layer(layer);
}

// A layer's gradient stands where its results were: in the logits, by class, or in the values.
void Network::backward_layer(size_t layer) {
  const LayerParameters& weights = parameters_.layers[layer];
  const uint64_t in = inputs(layer);
  const uint64_t out = outputs(layer);
  const LayerResults given = results_of(layer);
  add_up_rows({.values = given.values,
               .row_step = given.row_step,
               .column_step = given.column_step,
               .rows = static_cast<uint32_t>(results(layer)),
               .columns = static_cast<uint32_t>(out)},
              weights.bias_gradient);
  if (gat()) take_back_attention(layer);
  // Of the product.
  const float* const gradient = gat() ? attention_[layer].z.data() : given.values;
  const uint64_t rows = multiplied_rows(shape_.recipe, positions_, layer);
  const bool by_class = is_last(layer) && !gat();
  const uint64_t step = by_class ? rows : out;
  const auto add_weight_gradient = [&](const float* values, float* to) {
    device_.multiply({.rows = out,
                      .columns = in,
                      .inner = rows,
                      .a = gradient,
                      .a_step = step,
                      .a_transposed = !by_class,
                      .b = values,
                      .b_step = in,
                      .c = to,
                      .c_step = in,
                      .add = true});
  };
  const auto take_back = [&](const float* weight, float* to) {
    device_.multiply({.rows = rows,
                      .columns = in,
                      .inner = out,
                      .a = gradient,
                      .a_step = step,
                      .a_transposed = by_class,
                      .b = weight,
                      .b_step = in,
                      .c = to,
                      .c_step = in});
  };
  add_weight_gradient(multiplied(layer), weights.weight_gradient);
  if (sage()) add_weight_gradient(own_values(layer), weights.own_weight_gradient);
  if (layer == 0) return;
  take_back(weights.weight, sums_gradient_.data());
  if (sage()) take_back(weights.own_weight, own_gradient_.data());
  spread_gradient(layer, rows);
}

// From the gradient of what the layer multiplied, `rows` of it, to that of the layer before.
void Network::spread_gradient(size_t layer, uint64_t rows) {
  const uint64_t columns = inputs(layer);
  SpreadGradient spread = {.x = values_[layer - 1].data(),
                           .sums = sums_first() ? sums_gradient_.data() : nullptr,
                           .own = sage() ? own_gradient_.data() : nullptr,
                           .degrees = degrees_.data(),
                           .roots = roots_.data(),
                           .weights = weights_,
                           .positions = static_cast<uint32_t>(rows),
                           .fanout = fanout_of(layer),
                           .columns = static_cast<uint32_t>(columns),
                           .scale = keep_scale(),
                           .lanes = lanes_of(columns)};
  if (!sums_first()) spread.own = sums_gradient_.data();
  spread.threads = static_cast<uint32_t>(results(layer - 1)) * spread.lanes;
  device_.run(spread);
}

void Network::finish_step() {
  device_.run(EndBatch{.state = state_.data(),
                       .losses = losses_.data(),
                       .beta1 = parameters_.beta1,
                       .beta2 = parameters_.beta2});
  device_.run(AdamStep{.values = parameters_.values,
                       .gradients = parameters_.gradients,
                       .mean = parameters_.mean,
                       .square = parameters_.square,
                       .pass = pass_.data(),
                       .state = state_.data(),
                       .beta1 = static_cast<float>(parameters_.beta1),
                       .beta2 = static_cast<float>(parameters_.beta2),
                       .epsilon = static_cast<float>(parameters_.epsilon),
                       .threads = static_cast<uint32_t>(parameters_.count)});
}

}  // namespace plimsoll::gpu
