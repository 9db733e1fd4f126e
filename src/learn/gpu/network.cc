#include "gpu/network.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"

namespace plimsoll::gpu {
namespace {

using recipe::ModelKind;

SumWeights weights_of(ModelKind model) {
  switch (model) {
    case ModelKind::gcn:
      return SumWeights::graph;
    case ModelKind::sage:
      return SumWeights::mean;
    case ModelKind::gat:
    case ModelKind::mlp:
      break;
  }
  return SumWeights::none;
}

}  // namespace

Network::Network(Accelerator& device, const NetworkShape& shape, const StoreView& store,
                 const ModelParameters& parameters)
    : device_(device),
      shape_(shape),
      store_(store),
      parameters_(parameters),
      weights_(weights_of(shape.recipe.model)),
      positions_(tree_positions(shape.recipe, shape.part_seeds)) {
  if (most_threads(shape) > kThreadLimit) {
    fail(ErrorKind::internal, "parts of {} seeds have {} threads, more than are counted",
         shape.part_seeds, most_threads(shape));
  }
  const NetworkCounts counts = counts_of(shape);
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
  degrees_ = {device, "batches", counts.degrees};
  labels_ = {device, "batches", counts.labels};
  input_ = floats(counts.input);
  own_ = floats(counts.own);
  for (const uint64_t count : counts.sums) sums_.push_back(floats(count));
  for (const uint64_t count : counts.values) values_.push_back(floats(count));
  for (const AttentionCounts& layer : counts.attention) {
    attention_.push_back({.z = floats(layer.z),
                          .scores = floats(layer.weights),
                          .own_scores = floats(layer.own_scores),
                          .weights = floats(layer.weights)});
  }
  logits_ = floats(counts.logits);
  chunks_ = {device, "batches", counts.chunks};
  figures_ = {device, "batches", counts.labels};
  sums_gradient_ = floats(counts.sums_gradient);
  own_gradient_ = floats(counts.own_gradient);
  score_gradients_ = floats(counts.score_gradients);
  own_score_gradients_ = floats(counts.own_score_gradients);
  seed_losses_ = floats(counts.labels);
  partial_sums_ = floats(counts.partial_sums);
  std::vector<float> roots(kRootTable);
  for (uint32_t degree = 0; degree < kRootTable; ++degree) {
    roots[degree] = static_cast<float>(1.0 / std::sqrt(static_cast<double>(degree) + 1.0));
  }
  roots_.upload(roots.data(), roots.size());
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
  device_.run(OrderSeeds{.nodes = given_.data(),
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

void Network::mark(uint64_t first, uint64_t count, uint32_t* marks) {
  if (!mark_part_) {
    mark_part_ = device_.record([this, marks] {
      draw(mark_state_.data());
      device_.run_drawing(MarkRows{.lists = store_.lists,
                                   .state = mark_state_.data(),
                                   .nodes = nodes_.data(),
                                   .marks = marks,
                                   .first_cold = store_.rows.first_cold,
                                   .hop = static_cast<uint32_t>(layers() - 1),
                                   .fanout = draws() ? shape_.recipe.fanout.back() : 1,
                                   .draws = sums_first() ? 1U : 0U,
                                   .threads = static_cast<uint32_t>(positions_.back())});
      device_.run(EndPart{.state = mark_state_.data()});
    });
    mark_end_ = device_.record([this] { device_.run(EndBatch{.state = mark_state_.data()}); });
  }
  const BatchState state = {.index = first};
  mark_state_.upload(&state, 1);
  for (uint64_t index = first; index < first + count; ++index) {
    const uint32_t seeds = seeds_of(index);
    for (uint32_t done = 0; done < seeds; done += shape_.part_seeds) mark_part_->start();
    mark_end_->start();
  }
}

void Network::train() {
  const auto part = [this] {
    forward(/*training=*/true);
    compute_loss();
    backward();
    device_.run(EndPart{.state = state_.data()});
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
      device_.run(EndPart{.state = state_.data()});
    });
    skip_ = device_.record([this] { device_.run(EndBatch{.state = state_.data()}); });
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
