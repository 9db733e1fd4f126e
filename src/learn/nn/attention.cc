// Checks the arguments and chooses how to compute: with the fused loops of attention_fused.cc, or
// here with tensor operators, for devices that these loops do not support. The operators allocate a
// message for every edge: edges x channels floats. On a GPU the order of their sums, and so the
// last bits, may differ from run to run.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/leaky_relu_backward.h>
#include <ATen/ops/zeros.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "nn/attention_fused.h"
#include "nn/operations.h"

namespace plimsoll::nn {
namespace {

// ---- checks ----

struct Wanted {
  const char* name;
  at::ScalarType type;
  at::Device device;
};

void check(const at::Tensor& tensor, const Wanted& wanted, at::IntArrayRef sizes) {
  if (!tensor.defined()) fail(ErrorKind::internal, "attention: {} is undefined", wanted.name);
  if (tensor.scalar_type() != wanted.type || tensor.device() != wanted.device)
    fail(ErrorKind::internal, "attention: {} holds {} on {}, not {} on {}", wanted.name,
         toString(tensor.scalar_type()), tensor.device().str(), toString(wanted.type),
         wanted.device.str());
  if (tensor.sizes() != sizes)
    fail(ErrorKind::internal, "attention: {} has the shape [{}], not [{}]", wanted.name,
         fmt::join(tensor.sizes(), ", "), fmt::join(sizes, ", "));
  if (wanted.type == at::kInt && !tensor.is_contiguous())
    fail(ErrorKind::internal, "attention: {} is not contiguous", wanted.name);
}

AttentionInputs checked(const AttentionArguments& arguments) {
  const at::Tensor& z = arguments.z;
  const at::Tensor& att_src = arguments.att_src;
  const at::Tensor& att_dst = arguments.att_dst;
  const BlockTensors& block = arguments.block;
  if (!z.defined() || !block.indices.defined() || !att_src.defined() || att_src.dim() != 3)
    fail(ErrorKind::internal, "attention: z or indices is undefined, or att_src is not [1, h, c]");
  if (block.destinations > block.sources)
    fail(ErrorKind::internal, "attention: {} destinations but {} sources", block.destinations,
         block.sources);
  const AttentionHeads heads = {att_src.size(1), att_src.size(2)};
  const int64_t edges = block.indices.numel();
  const at::Device device = z.device();
  check(z, {"z", at::kFloat, device}, {block.sources, heads.width()});
  check(att_src, {"att_src", at::kFloat, device}, {1, heads.count, heads.channels});
  check(att_dst, {"att_dst", at::kFloat, device}, {1, heads.count, heads.channels});
  check(block.offsets, {"offsets", at::kInt, device}, {block.destinations + 1});
  check(block.indices, {"indices", at::kInt, device}, {edges});
  return {block,
          arguments.negative_slope,
          z.contiguous(),
          att_src.contiguous(),
          att_dst.contiguous(),
          heads,
          edges};
}

void check_backward(const AttentionInputs& in, const at::Tensor& grad_out, const Attention& saved) {
  const BlockTensors& block = in.block;
  const AttentionHeads& heads = in.heads;
  const at::Device device = in.z.device();
  check(grad_out, {"grad_out", at::kFloat, device}, {block.destinations, heads.width()});
  check(saved.weights, {"weights", at::kFloat, device},
        {in.edges + block.destinations, heads.count});
  check(saved.source_scores, {"source_scores", at::kFloat, device}, {block.sources, heads.count});
  check(saved.destination_scores, {"destination_scores", at::kFloat, device},
        {block.destinations, heads.count});
}

// The fused loops go through the edges by source.
void check_by_source(const AttentionInputs& in) {
  const BlockTensors& block = in.block;
  check(block.source_offsets, {"source_offsets", at::kInt, at::kCPU}, {block.sources + 1});
  check(block.by_source, {"by_source", at::kInt, at::kCPU}, {in.edges});
  check(block.source_edges, {"source_edges", at::kInt, at::kCPU}, {in.edges});
}

bool is_fused(const AttentionArguments& arguments) {
  return arguments.z.is_cpu() && arguments.path == AttentionPath::by_device;
}

// ---- with tensor operators ----

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

}  // namespace

Attention attend(const AttentionArguments& arguments) {
  const AttentionInputs in = checked(arguments);
  return is_fused(arguments) ? attend_fused(in) : attend_by_operators(in);
}

AttentionGradients attend_backward(const AttentionArguments& arguments, const at::Tensor& grad_out,
                                   const Attention& saved) {
  const AttentionInputs in = checked(arguments);
  check_backward(in, grad_out, saved);
  if (!is_fused(arguments)) return attend_backward_by_operators(in, grad_out, saved);
  check_by_source(in);
  return attend_backward_fused(in, grad_out, saved);
}

}  // namespace plimsoll::nn
