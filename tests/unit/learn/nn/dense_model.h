// Models computed in double with dense matrices, as the papers write them: slow, plain and short.
// Differentiable by autograd, which the code under test does not use.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/leaky_relu.h>
#include <fmt/format.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "nn/model.h"
#include "nn/small_block.h"

namespace plimsoll::nn {

using NamedDoubles = std::map<std::string, at::Tensor>;

// Copies, without those that are no floats.
inline NamedDoubles doubles_of(const std::vector<NamedTensor>& state) {
  NamedDoubles doubles;
  for (const NamedTensor& entry : state) {
    if (entry.tensor.scalar_type() == at::kFloat)
      doubles[entry.name] = entry.tensor.to(at::kDouble).clone();
  }
  return doubles;
}

// Moves every parameter and running figure away from its first value: zeros and ones would hide
// mistakes.
inline void shake(Model& model) {
  std::mt19937 random(29);
  for (const NamedTensor& entry : model.state()) {
    if (entry.tensor.scalar_type() != at::kFloat) {
      entry.tensor.fill_(3);
    } else if (entry.name.ends_with("running_var")) {
      entry.tensor.copy_(random_normal(entry.tensor.sizes(), random).abs().add(0.5));
    } else {
      entry.tensor.add_(random_normal(entry.tensor.sizes(), random), 0.3);
    }
  }
}

struct DenseInput {
  at::Tensor x;                      // features of all sources of the first block
  std::vector<BlockTensors> blocks;  // one a layer, none for mlp
  std::vector<at::Tensor> masks;     // dropout's factors after each layer but the last; or none
  bool training = false;             // batch norm by the rows themselves
};

inline at::Tensor dense_layer(const ModelShape& shape, int64_t index, const NamedDoubles& state,
                              const at::Tensor& x, const DenseInput& input) {
  if (shape.kind == recipe::ModelKind::mlp) {
    const std::string name = fmt::format("lin{}.", index + 1);
    return x.mm(state.at(name + "weight").t()) + state.at(name + "bias");
  }
  const std::string name = fmt::format("conv{}.", index + 1);
  const BlockTensors& block = input.blocks.at(index);
  if (shape.kind == recipe::ModelKind::gcn)
    return edge_weights(block).mm(x).mm(state.at(name + "lin.weight").t()) +
           state.at(name + "bias");
  if (shape.kind == recipe::ModelKind::sage) {
    return edge_weights(block).mm(x).mm(state.at(name + "lin_l.weight").t()) +
           state.at(name + "lin_l.bias") +
           x.narrow(0, 0, block.destinations).mm(state.at(name + "lin_r.weight").t());
  }
  const at::Tensor& att_src = state.at(name + "att_src");
  const at::Tensor z =
      x.mm(state.at(name + "lin.weight").t()).view({x.size(0), att_src.size(1), att_src.size(2)});
  const at::Tensor from = (z * att_src).sum(-1);
  const at::Tensor to = (z.narrow(0, 0, block.destinations) * state.at(name + "att_dst")).sum(-1);
  at::Tensor counts = edge_counts(block);
  counts.diagonal().add_(1);
  const at::Tensor powers =
      at::leaky_relu(from.unsqueeze(0) + to.unsqueeze(1), 0.2).exp() * counts.unsqueeze(-1);
  const at::Tensor weights = powers / powers.sum({1}, /*keepdim=*/true);
  return at::einsum("ijh,jhc->ihc", {weights, z}).reshape({block.destinations, -1}) +
         state.at(name + "bias");
}

inline at::Tensor dense_norm(int64_t index, const NamedDoubles& state, const at::Tensor& x,
                             bool training) {
  const std::string name = fmt::format("bn{}.", index + 1);
  const at::Tensor mean = training ? x.mean(0) : state.at(name + "running_mean");
  const at::Tensor variance =
      training ? (x - mean).square().mean(0) : state.at(name + "running_var");
  return (x - mean) / (variance + 1e-5).sqrt() * state.at(name + "weight") +
         state.at(name + "bias");
}

struct DenseOutputs {
  at::Tensor logits;
  at::Tensor embeddings;  // what the last layer was given, of its own nodes
};

inline DenseOutputs dense_forward(const ModelShape& shape, const NamedDoubles& state,
                                  const DenseInput& input) {
  at::Tensor x = input.x.to(at::kDouble);
  for (int64_t i = 0; i + 1 < shape.layers; ++i) {
    x = dense_layer(shape, i, state, x, input);
    if (shape.batch_norm) x = dense_norm(i, state, x, input.training);
    x = x.clamp_min(0);
    if (!input.masks.empty()) x = x * input.masks.at(i).to(at::kDouble);
  }
  const at::Tensor logits = dense_layer(shape, shape.layers - 1, state, x, input);
  return {logits, x.narrow(0, 0, logits.size(0))};
}

}  // namespace plimsoll::nn
