#include "nn/attention_operators.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/leaky_relu_backward.h>
#include <ATen/ops/zeros.h>

#include <cstdint>
#include <vector>

namespace plimsoll::nn {
namespace {

// The ends of every edge, the self loops last: in the order of the weights.
struct Ends {
  at::Tensor sources;
  at::Tensor destinations;
};

Ends ends_of(const AttentionInputs& in) {
  const BlockTensors& block = in.block;
  const at::Tensor offsets = block.offsets.to(at::kLong);
  const at::Tensor lengths = offsets.slice(0, 1) - offsets.slice(0, 0, block.destinations);
  const at::Tensor self = at::arange(block.destinations, offsets.options());
  return {at::cat({block.indices.to(at::kLong), self}),
          at::cat({self.repeat_interleave(lengths, 0, in.edges), self})};
}

at::Tensor sum_by(const at::Tensor& ends, const at::Tensor& rows, int64_t count) {
  std::vector<int64_t> sizes = rows.sizes().vec();
  sizes[0] = count;
  return at::zeros(sizes, rows.options()).index_add_(0, ends, rows);
}

at::Tensor by_heads(const AttentionInputs& in, const at::Tensor& rows) {
  return rows.view({rows.size(0), in.heads.count, in.heads.channels});
}

at::Tensor scores_of(const Attention& attention, const Ends& ends) {
  return attention.source_scores.index_select(0, ends.sources) +
         attention.destination_scores.index_select(0, ends.destinations);
}

}  // namespace

Attention attend_by_operators(const AttentionInputs& in) {
  const int64_t destinations = in.block.destinations;
  const Ends ends = ends_of(in);
  const at::Tensor z = by_heads(in, in.z);
  Attention result;
  result.source_scores = (z * in.att_src).sum(-1);
  result.destination_scores = (z.slice(0, 0, destinations) * in.att_dst).sum(-1);
  const at::Tensor scores = at::leaky_relu(scores_of(result, ends), in.slope);
  const at::Tensor best = at::zeros({destinations, in.heads.count}, in.z.options())
                              .scatter_reduce(0, ends.destinations.unsqueeze(1).expand_as(scores),
                                              scores, "amax", /*include_self=*/false);
  const at::Tensor powers = (scores - best.index_select(0, ends.destinations)).exp();
  const at::Tensor sums = sum_by(ends.destinations, powers, destinations);
  result.weights = powers / sums.index_select(0, ends.destinations);
  const at::Tensor messages = z.index_select(0, ends.sources) * result.weights.unsqueeze(-1);
  result.out =
      sum_by(ends.destinations, messages, destinations).view({destinations, in.heads.width()});
  return result;
}

AttentionGradients attend_backward_by_operators(const AttentionInputs& in,
                                                const at::Tensor& grad_out,
                                                const Attention& saved) {
  const int64_t destinations = in.block.destinations;
  const Ends ends = ends_of(in);
  const at::Tensor z = by_heads(in, in.z);
  const at::Tensor grad_edges =
      by_heads(in, grad_out.contiguous()).index_select(0, ends.destinations);
  const at::Tensor grad_weights = (grad_edges * z.index_select(0, ends.sources)).sum(-1);
  const at::Tensor means = sum_by(ends.destinations, saved.weights * grad_weights, destinations);
  const at::Tensor grad_softmax =
      saved.weights * (grad_weights - means.index_select(0, ends.destinations));
  const at::Tensor grad_scores =
      at::leaky_relu_backward(grad_softmax, scores_of(saved, ends), in.slope, false);
  const at::Tensor grad_src = sum_by(ends.sources, grad_scores, in.block.sources).unsqueeze(-1);
  const at::Tensor grad_dst = sum_by(ends.destinations, grad_scores, destinations).unsqueeze(-1);
  const at::Tensor grad_z = grad_src * in.att_src;
  grad_z.slice(0, 0, destinations).add_(grad_dst * in.att_dst);
  grad_z.index_add_(0, ends.sources, saved.weights.unsqueeze(-1) * grad_edges);
  return {grad_z.view_as(in.z), (grad_src * z).sum(0, /*keepdim=*/true),
          (grad_dst * z.slice(0, 0, destinations)).sum(0, /*keepdim=*/true)};
}

}  // namespace plimsoll::nn
