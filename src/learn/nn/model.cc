#include "nn/model.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include "base/random.h"

namespace plimsoll::nn {
namespace {

std::unique_ptr<Layer> make_layer(recipe::ModelKind kind, const LayerShape& shape) {
  switch (kind) {
    case recipe::ModelKind::gcn:
      return make_gcn(shape);
    case recipe::ModelKind::sage:
      return make_sage(shape);
    case recipe::ModelKind::gat:
      return make_gat(shape);
    case recipe::ModelKind::mlp:
      break;
  }
  return make_linear(shape);
}

// "conv" or "lin" and the layer's number, counted from 1.
std::string layer_name(recipe::ModelKind kind, size_t index) {
  return fmt::format("{}{}", kind == recipe::ModelKind::mlp ? "lin" : "conv", index + 1);
}

void draw(const at::Tensor& cpu_values, double bound, uint64_t seed, uint64_t stream) {
  const RandomStream random(seed, stream);
  auto* values = cpu_values.data_ptr<float>();
  for (int64_t i = 0; i < cpu_values.numel(); ++i) {
    values[i] = static_cast<float>((2 * unit_interval(random.at(i)) - 1) * bound);
  }
}

}  // namespace

Model::Model(const ModelShape& shape, uint64_t seed, c10::Device device) : shape_(shape) {
  for (int64_t i = 0; i < shape.layers; ++i) {
    const bool last = i + 1 == shape.layers;
    layers_.push_back(make_layer(shape.kind, {.in = i == 0 ? shape.inputs : shape.hidden,
                                              .out = last ? shape.classes : shape.hidden,
                                              .heads = last ? 1 : shape.heads}));
    if (last || !shape.batch_norm) continue;
    norms_.emplace_back(shape.hidden, device);
  }
  bind_parameters(seed, device);
}

// Puts all parameters into one flat tensor and sets their initial values.
void Model::bind_parameters(uint64_t seed, c10::Device device) {
  struct Place {
    std::string name;
    size_t layer;
    Parameter* parameter;
  };
  std::vector<Place> places;
  for (size_t i = 0; i < layers_.size(); ++i) {
    for (Parameter& parameter : layers_[i]->parameters()) {
      places.push_back({layer_name(shape_.kind, i) + "." + parameter.name, i, &parameter});
    }
    if (i >= norms_.size()) continue;
    places.push_back({fmt::format("bn{}.weight", i + 1), i, &norms_[i].weight});
    places.push_back({fmt::format("bn{}.bias", i + 1), i, &norms_[i].bias});
  }
  const auto numel = [](const Parameter& parameter) {
    int64_t count = 1;
    for (const int64_t size : parameter.shape) count *= size;
    return count;
  };
  int64_t total = 0;
  for (const Place& place : places) total += numel(*place.parameter);
  const at::Tensor drawn = at::zeros({total});
  int64_t begin = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t count = numel(*places[i].parameter);
    draw(drawn.narrow(0, begin, count), places[i].parameter->bound, seed, i);
    begin += count;
  }
  values_ = drawn.to(device);
  gradients_ = at::zeros_like(values_);
  begin = 0;
  for (const Place& place : places) {
    Parameter& parameter = *place.parameter;
    const int64_t count = numel(parameter);
    parameter.value = values_.narrow(0, begin, count).view(parameter.shape);
    parameter.gradient = gradients_.narrow(0, begin, count).view(parameter.shape);
    parameters_.push_back({place.name, parameter.value, place.layer, parameter.role});
    begin += count;
  }
  for (BatchNorm& norm : norms_) norm.weight.value.fill_(1);
}

Outputs Model::forward(const BatchTensors& batch, bool training, uint64_t dropout_key) {
  forget();
  // The first layer has no block if its sums have already been made.
  const size_t made = layers_.size() - batch.blocks.size();
  at::Tensor x = batch.input;
  at::Tensor handed_on;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const bool has_block = i >= made && shape_.kind != recipe::ModelKind::mlp;
    x = layers_[i]->forward({.x = x,
                             .own = i == 0 ? batch.own : at::Tensor(),
                             .block = has_block ? &batch.blocks[i - made] : nullptr},
                            training);
    if (i + 1 == layers_.size()) break;
    if (!norms_.empty()) x = norms_[i].forward(x, training);
    const double share = training ? shape_.dropout : 0;
    relu_dropout_in_place(x, batch.nodes, {share, mix64(dropout_key + i)});
    if (training) activations_.push_back(x);
    handed_on = x;
  }
  if (!handed_on.defined()) return {x, handed_on};
  return {x, handed_on.narrow(0, 0, x.size(0))};
}

void Model::backward(const at::Tensor& logits_gradient) {
  at::Tensor gradient = logits_gradient;
  for (size_t i = layers_.size(); i-- > 0;) {
    gradient = layers_[i]->backward(gradient, i > 0);
    if (i == 0) break;
    relu_dropout_backward_in_place(gradient, activations_[i - 1], shape_.dropout);
    activations_.pop_back();
    if (!norms_.empty()) gradient = norms_[i - 1].backward(gradient);
  }
}

void Model::forget() {
  activations_.clear();
  for (const auto& layer : layers_) layer->forget();
  for (BatchNorm& norm : norms_) norm.forget();
}

at::Tensor Model::layer(size_t index, const LayerInput& input) {
  at::Tensor x = layers_[index]->forward(input, /*training=*/false);
  if (index + 1 == layers_.size()) return x;
  if (!norms_.empty()) x = norms_[index].forward(x, /*training=*/false);
  relu_dropout_in_place(x, /*nodes=*/{}, {});
  return x;
}

std::vector<NamedTensor> Model::state() const {
  std::vector<NamedTensor> state = parameters_;
  for (size_t i = 0; i < norms_.size(); ++i) {
    state.push_back({fmt::format("bn{}.running_mean", i + 1), norms_[i].running_mean});
    state.push_back({fmt::format("bn{}.running_var", i + 1), norms_[i].running_var});
    state.push_back({fmt::format("bn{}.num_batches_tracked", i + 1), norms_[i].batches});
  }
  return state;
}

}  // namespace plimsoll::nn
