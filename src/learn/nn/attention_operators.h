// Attention with tensor operations, for devices that the fused loops of attention.cc do not
// support. Allocates a message for every edge: edges x channels floats. On a GPU the order of the
// sums, and so the last bits, may differ from run to run.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "nn/attention.h"
#include "nn/block_tensors.h"

namespace plimsoll::nn {

struct AttentionHeads {
  int64_t count = 0;
  int64_t channels = 0;
  int64_t width() const { return count * channels; }
};

// The checked arguments of forward and backward. The float tensors are contiguous.
struct AttentionInputs {
  const BlockTensors& block;
  double slope = 0;
  at::Tensor z;
  at::Tensor att_src;
  at::Tensor att_dst;
  AttentionHeads heads;
  int64_t edges = 0;
};

Attention attend_by_operators(const AttentionInputs& in);
AttentionGradients attend_backward_by_operators(const AttentionInputs& in,
                                                const at::Tensor& grad_out, const Attention& saved);

}  // namespace plimsoll::nn
