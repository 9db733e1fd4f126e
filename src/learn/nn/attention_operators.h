// Attention by tensor operations, for devices that the fused loops of attention.cc do not reach.
// Every edge's message is held: edges x channels floats. On a GPU the order of the sums, and with
// it the last bits, may change from run to run.
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

// The arguments of both directions, checked; the float tensors are contiguous.
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
