// Attention on a CPU, in fused loops that allocate no message per edge. attention.cc checks the
// arguments and calls them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "nn/operations.h"

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

Attention attend_fused(const AttentionInputs& in);
// The block must have its edges by source.
AttentionGradients attend_backward_fused(const AttentionInputs& in, const at::Tensor& grad_out,
                                         const Attention& saved);

}  // namespace plimsoll::nn
