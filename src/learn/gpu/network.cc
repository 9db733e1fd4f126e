#include "gpu/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "base/error.h"

namespace plimsoll::gpu {
namespace {

using recipe::ModelKind;

constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;

uint32_t lanes_of(uint64_t columns) { return static_cast<uint32_t>((columns + kLane - 1) / kLane); }
uint32_t parts_of(uint64_t rows) {
  return static_cast<uint32_t>((rows + kPartRows - 1) / kPartRows);
}

// Of all steps of a sum over so many rows; see add_up_rows.
uint64_t all_parts_of(uint64_t rows) {
  uint64_t parts = 0;
  do {
    rows = parts_of(rows);
    parts += rows;
  } while (rows > kPartRows);
  return parts;
}

uint32_t chunks_of(uint32_t classes) { return (classes + kChunk - 1) / kChunk; }

SumWeights weights_of(ModelKind model) {
  if (model == ModelKind::gcn) return SumWeights::graph;
  return model == ModelKind::sage ? SumWeights::mean : SumWeights::none;
}

}  // namespace

std::string cannot_draw(const recipe::Recipe& recipe, bool precomputed_sums) {
  if (recipe.model == ModelKind::gat) return "gat needs the rows of all nodes, each once";
  if (recipe.batch_norm) return "--batch-norm counts every node once";
  if (precomputed_sums) return "the store holds precomputed sums";
  if (recipe.fanout.size() > kMostHops) return fmt::format("more than {} layers", kMostHops);
  if (recipe.model == ModelKind::mlp) return "";
  if (recipe.model == ModelKind::gcn && recipe.norm == recipe::Norm::sampled) {
    return "--norm sampled needs the degrees in the sample";
  }
  if (recipe.sampler != recipe::Draw::uniform) return "--sampler labor reads whole lists";
  const uint32_t most = *std::max_element(recipe.fanout.begin(), recipe.fanout.end());
  const uint32_t fewest = *std::min_element(recipe.fanout.begin(), recipe.fanout.end());
  if (most > kMostFanout || fewest == 0) {
    return fmt::format("a fan-out is not between 1 and {}", kMostFanout);
  }
  return "";
}

std::vector<uint64_t> tree_positions(const recipe::Recipe& recipe, uint64_t seeds) {
  std::vector<uint64_t> positions = {seeds};
  if (recipe.model == ModelKind::mlp) return positions;
  for (size_t hop = 0; hop + 1 < recipe.fanout.size(); ++hop) {
    positions.push_back(positions.back() * (1 + uint64_t{recipe.fanout[hop]}));
  }
  return positions;
}

// How many values each array has: for the plan and for the constructor.
struct Network::Counts {
  uint64_t order = 0;
  uint64_t losses = 0;
  uint64_t nodes = 0;
  uint64_t labels = 0;
  uint64_t input = 0;
  uint64_t own = 0;
  std::vector<uint64_t> sums;
  std::vector<uint64_t> values;
  uint64_t logits = 0;
  uint64_t chunks = 0;
  uint64_t sums_gradient = 0;
  uint64_t own_gradient = 0;
  uint64_t parts = 0;
};

Network::Counts Network::counts_of(const NetworkShape& shape) {
  const recipe::Recipe& recipe = shape.recipe;
  const size_t layers = recipe.fanout.size();
  const bool draws = recipe.model != ModelKind::mlp;
  const bool sage = recipe.model == ModelKind::sage;
  const auto positions = tree_positions(recipe, shape.part_seeds);
  const auto results = [&](size_t layer) { return positions.at(draws ? layers - 1 - layer : 0); };
  Counts counts{
      .order = shape.longest_pass,
      .losses = shape.longest_pass / recipe.batch_size + 1,
      .nodes = positions.back(),
      .labels = shape.part_seeds,
      .input = positions.back() * shape.columns,
      .own = sage ? positions.back() * shape.columns : 0,
      .logits = shape.part_seeds * shape.classes,
      .chunks = uint64_t{chunks_of(static_cast<uint32_t>(shape.classes))} * shape.part_seeds,
  };
  for (size_t layer = 0; layer < layers; ++layer) {
    const uint64_t columns = layer + 1 == layers ? shape.classes : recipe.hidden;
    counts.parts = std::max(counts.parts, all_parts_of(results(layer)) * columns);
    if (layer + 1 < layers) counts.values.push_back(results(layer) * recipe.hidden);
    if (layer == 0) continue;
    const uint64_t inputs = results(layer) * recipe.hidden;
    if (draws) counts.sums.push_back(inputs);
    counts.sums_gradient = std::max(counts.sums_gradient, inputs);
  }
  if (sage) counts.own_gradient = counts.sums_gradient;
  return counts;
}

uint64_t network_bytes(const NetworkShape& shape) {
  const Network::Counts counts = Network::counts_of(shape);
  using Floats = Array<float>;
  uint64_t bytes = Array<PassFacts>::bytes_needed(1) + 2 * Array<BatchState>::bytes_needed(1) +
                   4 * Floats::bytes_needed(counts.order) + Floats::bytes_needed(counts.losses) +
                   Floats::bytes_needed(kRootTable) + 2 * Floats::bytes_needed(counts.nodes) +
                   2 * Floats::bytes_needed(counts.labels) + Floats::bytes_needed(counts.input) +
                   Floats::bytes_needed(counts.own) + Floats::bytes_needed(counts.logits) +
                   Array<ChunkFigures>::bytes_needed(counts.chunks) +
                   Array<SeedFigures>::bytes_needed(counts.labels) +
                   Floats::bytes_needed(counts.sums_gradient) +
                   Floats::bytes_needed(counts.own_gradient) + Floats::bytes_needed(counts.parts);
  for (const uint64_t count : counts.sums) bytes += Floats::bytes_needed(count);
  for (const uint64_t count : counts.values) bytes += Floats::bytes_needed(count);
  return bytes;
}

Network::Network(Accelerator& device, const NetworkShape& shape, const StoreView& store,
                 const ModelParameters& parameters)
    : device_(device),
      shape_(shape),
      store_(store),
      parameters_(parameters),
      weights_(weights_of(shape.recipe.model)),
      positions_(tree_positions(shape.recipe, shape.part_seeds)) {
  const Counts counts = counts_of(shape);
  const auto floats = [&](uint64_t count) { return Array<float>(device, "batches", count); };
  pass_ = {device, "batches", 1};
  state_ = {device, "batches", 1};
  mark_state_ = {device, "batches", 1};
  given_ = {device, "batches", counts.order};
  given_labels_ = {device, "batches", counts.order};
  order_ = {device, "batches", counts.order};
  order_labels_ = {device, "batches", counts.order};
  losses_ = floats(counts.losses);
  roots_ = floats(kRootTable);
  nodes_ = {device, "batches", counts.nodes};
  degrees_ = {device, "batches", counts.nodes};
  labels_ = {device, "batches", counts.labels};
  input_ = floats(counts.input);
  own_ = floats(counts.own);
  for (const uint64_t count : counts.sums) sums_.push_back(floats(count));
  for (const uint64_t count : counts.values) values_.push_back(floats(count));
  logits_ = floats(counts.logits);
  chunks_ = {device, "batches", counts.chunks};
  figures_ = {device, "batches", counts.labels};
  sums_gradient_ = floats(counts.sums_gradient);
  own_gradient_ = floats(counts.own_gradient);
  seed_losses_ = floats(counts.labels);
  parts_ = floats(counts.parts);
  std::vector<float> roots(kRootTable);
  for (uint32_t degree = 0; degree < kRootTable; ++degree) {
    roots[degree] = static_cast<float>(1.0 / std::sqrt(static_cast<double>(degree) + 1.0));
  }
  roots_.upload(roots.data(), roots.size());
}

float Network::keep_scale() const {
  return static_cast<float>(1.0 / (1.0 - shape_.recipe.dropout));
}

uint32_t Network::seeds_of(uint64_t index) const {
  const uint64_t begin = (index - order_facts_.base) * order_facts_.batch_size;
  return static_cast<uint32_t>(
      std::min<uint64_t>(order_facts_.batch_size, pass_size_ - std::min(pass_size_, begin)));
}

void Network::begin(const PassOrder& order) {
  if (order.nodes.size() > order_.size()) {
    fail(ErrorKind::internal, "a pass over {} nodes, {} planned", order.nodes.size(),
         order_.size());
  }
  const uint64_t count = order.nodes.size();
  given_.upload(order.nodes.data(), count);
  if (!order.labels.empty()) given_labels_.upload(order.labels.data(), count);
  const auto bits = static_cast<uint32_t>(std::bit_width(count | 3));
  device_.run("order_seeds",
              OrderSeeds{.nodes = given_.data(),
                         .labels = order.labels.empty() ? nullptr : given_labels_.data(),
                         .out = order_.data(),
                         .out_labels = order_labels_.data(),
                         .key = order.shuffle.value_or(0),
                         .half_bits = order.shuffle ? (bits + 1) / 2 : 0,
                         .threads = static_cast<uint32_t>(count)});
  const PassFacts facts = {.nodes = order_.data(),
                           .labels = order.labels.empty() ? nullptr : order_labels_.data(),
                           .base = order.base,
                           .size = count,
                           .draws_key = order.draws_key,
                           .dropout_key = order.dropout_key,
                           .batch_size = order.batch_size,
                           .lr = static_cast<float>(order.lr),
                           .weight_decay = static_cast<float>(order.weight_decay)};
  pass_.upload(&facts, 1);
  const BatchState state = {.index = order.first_batch, .steps = order.steps};
  state_.upload(&state, 1);
  order_facts_ = order;
  order_facts_.nodes = {};
  order_facts_.labels = {};
  pass_size_ = count;
  index_ = order.first_batch;
  before_ = 0;
}

// The values that the layer's weight is multiplied with.
const float* Network::multiplied(size_t layer) const {
  if (layer == 0) return input_.data();
  return draws() ? sums_[layer - 1].data() : values_[layer - 1].data();
}

const float* Network::own_values(size_t layer) const {
  return layer == 0 ? own_.data() : values_[layer - 1].data();
}

void Network::draw(BatchState* state) {
  const auto seeds = static_cast<uint32_t>(positions_.front());
  device_.run("begin_part", BeginPart{.pass = pass_.data(),
                                      .state = state,
                                      .part_seeds = shape_.part_seeds,
                                      .hops = static_cast<uint32_t>(layers())});
  device_.run("take_seeds", TakeSeeds{.pass = pass_.data(),
                                      .state = state,
                                      .nodes = nodes_.data(),
                                      .labels = labels_.data(),
                                      .threads = seeds});
  for (size_t hop = 0; draws() && hop + 1 < layers(); ++hop) {
    device_.run_drawing("draw_hop", DrawHop{.lists = store_.lists,
                                            .state = state,
                                            .nodes = nodes_.data(),
                                            .hop = static_cast<uint32_t>(hop),
                                            .fanout = shape_.recipe.fanout[hop],
                                            .threads = static_cast<uint32_t>(positions_[hop])});
  }
}

void Network::sum_rows() {
  SumRows sum = {.lists = store_.lists,
                 .rows = store_.rows,
                 .state = state_.data(),
                 .nodes = nodes_.data(),
                 .roots = roots_.data(),
                 .sums = draws() ? input_.data() : nullptr,
                 .own = draws() ? own_.data() : input_.data(),
                 .degrees = degrees_.data(),
                 .weights = weights_,
                 .hop = static_cast<uint32_t>(layers() - 1),
                 .fanout = draws() ? shape_.recipe.fanout.back() : 1,
                 .lanes = lanes_of(shape_.columns)};
  if (draws() && !sage()) sum.own = nullptr;
  sum.threads = static_cast<uint32_t>(positions_.back()) * sum.lanes;
  device_.run_drawing("sum_rows", sum);
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

void Network::mark(uint64_t first, uint64_t count, uint32_t* marks) {
  if (!mark_part_) {
    mark_part_ = device_.record([this, marks] {
      draw(mark_state_.data());
      device_.run_drawing("mark_rows",
                          MarkRows{.lists = store_.lists,
                                   .state = mark_state_.data(),
                                   .nodes = nodes_.data(),
                                   .marks = marks,
                                   .first_cold = store_.rows.first_cold,
                                   .hop = static_cast<uint32_t>(layers() - 1),
                                   .fanout = draws() ? shape_.recipe.fanout.back() : 1,
                                   .draws = draws() ? 1U : 0U,
                                   .threads = static_cast<uint32_t>(positions_.back())});
      device_.run("end_part", EndPart{.state = mark_state_.data()});
    });
    mark_end_ =
        device_.record([this] { device_.run("end_batch", EndBatch{.state = mark_state_.data()}); });
  }
  const BatchState state = {.index = first};
  mark_state_.upload(&state, 1);
  for (uint64_t index = first; index < first + count; ++index) {
    const uint32_t seeds = seeds_of(index);
    for (uint32_t done = 0; done < seeds; done += shape_.part_seeds) mark_part_->start();
    mark_end_->start();
  }
}

void Network::forward(bool training) {
  draw(state_.data());
  sum_rows();
  for (size_t layer = 0; layer < layers(); ++layer) {
    if (layer > 0 && draws()) {
      SumTree sum = {.x = values_[layer - 1].data(),
                     .sums = sums_[layer - 1].data(),
                     .degrees = degrees_.data(),
                     .roots = roots_.data(),
                     .weights = weights_,
                     .positions = static_cast<uint32_t>(results(layer)),
                     .fanout = shape_.recipe.fanout.at(hop_of(layer)),
                     .columns = static_cast<uint32_t>(inputs(layer)),
                     .lanes = lanes_of(inputs(layer))};
      sum.threads = sum.positions * sum.lanes;
      device_.run("sum_tree", sum);
    }
    multiply_layer(layer);
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
    device_.run("activate", activate);
  }
  const auto classes = static_cast<uint32_t>(shape_.classes);
  device_.run("read_logits", ReadLogits{.logits = logits_.data(),
                                        .bias = parameters_.layers.back().bias,
                                        .chunks = training ? chunks_.data() : nullptr,
                                        .classes = classes,
                                        .seeds = shape_.part_seeds,
                                        .threads = chunks_of(classes) * shape_.part_seeds});
}

// Replaces the logits by their gradient.
void Network::lose() {
  const auto classes = static_cast<uint32_t>(shape_.classes);
  const auto smoothing = static_cast<float>(shape_.recipe.label_smoothing);
  device_.run("add_up_logits", AddUpLogits{.logits = logits_.data(),
                                           .chunks = chunks_.data(),
                                           .labels = labels_.data(),
                                           .state = state_.data(),
                                           .figures = figures_.data(),
                                           .losses = seed_losses_.data(),
                                           .smoothing = smoothing,
                                           .classes = classes,
                                           .threads = shape_.part_seeds});
  device_.run("turn_logits", TurnLogits{.logits = logits_.data(),
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

// out[c] += the sum of the rows of column c. Sums of kPartRows rows are rows again, until there are
// few of them.
void Network::add_up_rows(const AddRows& rows, float* out) {
  AddRows task = rows;
  float* to = parts_.data();
  do {
    const uint32_t parts = parts_of(task.rows);
    task.parts = to;
    task.threads = parts * task.columns;
    device_.run("add_rows", task);
    task.values = to;
    task.row_step = task.columns;
    task.column_step = 1;
    task.rows = parts;
    to += task.threads;
  } while (task.rows > kPartRows);
  device_.run(
      "add_parts",
      AddParts{.values = task.values, .out = out, .parts = task.rows, .threads = task.columns});
}

// Layer by layer from the last. A layer's gradient stands where its results were: in the logits, by
// class, or in the values.
void Network::backward() {
  for (size_t layer = layers(); layer-- > 0;) {
    const LayerParameters& weights = parameters_.layers[layer];
    const bool last = is_last(layer);
    const uint64_t rows = results(layer);
    const uint64_t in = inputs(layer);
    const uint64_t out = outputs(layer);
    const float* const gradient = last ? logits_.data() : values_[layer].data();
    const uint64_t step = last ? rows : out;
    add_up_rows({.values = gradient,
                 .row_step = last ? 1 : out,
                 .column_step = last ? rows : 1,
                 .rows = static_cast<uint32_t>(rows),
                 .columns = static_cast<uint32_t>(out)},
                weights.bias_gradient);
    const auto add_weight_gradient = [&](const float* values, float* to) {
      device_.multiply({.rows = out,
                        .columns = in,
                        .inner = rows,
                        .a = gradient,
                        .a_step = step,
                        .a_transposed = !last,
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
                        .a_transposed = last,
                        .b = weight,
                        .b_step = in,
                        .c = to,
                        .c_step = in});
    };
    add_weight_gradient(multiplied(layer), weights.weight_gradient);
    if (sage()) add_weight_gradient(own_values(layer), weights.own_weight_gradient);
    if (layer == 0) break;
    take_back(weights.weight, sums_gradient_.data());
    if (sage()) take_back(weights.own_weight, own_gradient_.data());
    SpreadGradient spread = {.x = values_[layer - 1].data(),
                             .sums = draws() ? sums_gradient_.data() : nullptr,
                             .own = sage() ? own_gradient_.data() : nullptr,
                             .degrees = degrees_.data(),
                             .roots = roots_.data(),
                             .weights = weights_,
                             .positions = static_cast<uint32_t>(rows),
                             .fanout = draws() ? shape_.recipe.fanout.at(hop_of(layer)) : 0,
                             .columns = static_cast<uint32_t>(in),
                             .scale = keep_scale(),
                             .lanes = lanes_of(in)};
    if (!draws()) spread.own = sums_gradient_.data();
    spread.threads = static_cast<uint32_t>(results(layer - 1)) * spread.lanes;
    device_.run("spread_gradient", spread);
  }
}

void Network::finish_step() {
  device_.run(
      "end_batch",
      EndBatch{.state = state_.data(), .losses = losses_.data(), .beta1 = kBeta1, .beta2 = kBeta2});
  device_.run("adam_step", AdamStep{.values = parameters_.values,
                                    .gradients = parameters_.gradients,
                                    .mean = parameters_.mean,
                                    .square = parameters_.square,
                                    .pass = pass_.data(),
                                    .state = state_.data(),
                                    .beta1 = static_cast<float>(kBeta1),
                                    .beta2 = static_cast<float>(kBeta2),
                                    .epsilon = static_cast<float>(kEpsilon),
                                    .threads = static_cast<uint32_t>(parameters_.count)});
}

void Network::train() {
  const auto part = [this] {
    forward(/*training=*/true);
    lose();
    backward();
    device_.run("end_part", EndPart{.state = state_.data()});
  };
  const uint32_t seeds = seeds_of(index_++);
  if (seeds <= shape_.part_seeds) {
    if (!train_whole_) {
      train_whole_ = device_.record([this, part] {
        part();
        finish_step();
      });
    }
    train_whole_->start();
    return;
  }
  if (!train_part_) {
    train_part_ = device_.record(part);
    finish_ = device_.record([this] { finish_step(); });
  }
  for (uint32_t done = 0; done < seeds; done += shape_.part_seeds) train_part_->start();
  finish_->start();
}

void Network::losses(uint64_t first, std::span<float> out) {
  device_.download(out.data(), losses_.data() + first, out.size_bytes());
}

Network::Part Network::evaluate() {
  if (!evaluate_part_) {
    evaluate_part_ = device_.record([this] {
      forward(/*training=*/false);
      device_.run("end_part", EndPart{.state = state_.data()});
    });
    skip_ = device_.record([this] { device_.run("end_batch", EndBatch{.state = state_.data()}); });
  }
  const uint32_t whole = seeds_of(index_);
  evaluate_part_->start();
  Part part{.first = index_ * order_facts_.batch_size + before_,
            .seeds = std::min(shape_.part_seeds, whole - before_),
            .step = shape_.part_seeds,
            .logits = logits_.data(),
            .hidden = values_.empty() ? nullptr : values_.back().data(),
            .labels = labels_.data()};
  before_ += part.seeds;
  if (before_ >= whole) {
    skip_->start();
    before_ = 0;
    ++index_;
  }
  return part;
}

}  // namespace plimsoll::gpu
