// Graph attention after the linear map, forward and backward, as in PyG's GATConv with self loops:
// a destination weights its list and itself with a softmax over leaky_relu(<z_j, att_src> + <z_i,
// att_dst>), separately for each head. The gradients are computed explicitly, without autograd.
#pragma once

#include <ATen/core/Tensor.h>

#include "nn/block_tensors.h"

namespace plimsoll::nn {

// What attend() returns and attend_backward() needs: `out`, and one float per head for every weight
// and every score.
struct Attention {
  at::Tensor out;                 // [destinations, heads * channels], without bias
  at::Tensor weights;             // [edges + destinations, heads]: the lists, then i -> i
  at::Tensor source_scores;       // [sources, heads]: <z_j, att_src>
  at::Tensor destination_scores;  // [destinations, heads]: <z_i, att_dst>
};

struct AttentionGradients {
  at::Tensor z;        // [sources, heads * channels]
  at::Tensor att_src;  // [1, heads, channels]
  at::Tensor att_dst;  // [1, heads, channels]
};

// by_device: on a CPU, fused kernels that never allocate edges x channels values and give the same
// bits with any number of threads; on a GPU like `operators`. operators: tensor operators that
// allocate a message for every edge; on a GPU the last bits may differ from run to run.
enum class AttentionPath { by_device, operators };

// z is [sources, heads * channels]; att_src and att_dst are [1, heads, channels]. All are float and
// on the same device.
Attention attend(const at::Tensor& z, const at::Tensor& att_src, const at::Tensor& att_dst,
                 const BlockTensors& block, double negative_slope = 0.2,
                 AttentionPath path = AttentionPath::by_device);

// `saved` is the result of attend() for the same arguments; its `out` is not read. On a CPU the
// block needs its edges by source.
AttentionGradients attend_backward(const at::Tensor& grad_out, const at::Tensor& z,
                                   const at::Tensor& att_src, const at::Tensor& att_dst,
                                   const Attention& saved, const BlockTensors& block,
                                   double negative_slope = 0.2,
                                   AttentionPath path = AttentionPath::by_device);

}  // namespace plimsoll::nn
