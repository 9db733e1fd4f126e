// Graph attention after the linear map, forward and backward, as PyG's GATConv with self loops: a
// destination weighs its list and itself by a softmax over leaky_relu(<z_j, att_src> + <z_i,
// att_dst>), head by head. Gradients are written out: nothing here needs or records autograd.
#pragma once

#include <ATen/core/Tensor.h>

#include "nn/block_tensors.h"

namespace plimsoll::nn {

// What attend() returns and attend_backward() needs: beside `out`, one float a head for every
// weight and every score.
struct Attention {
  at::Tensor out;                 // [destinations, heads * channels], without a bias
  at::Tensor weights;             // [edges + destinations, heads]: the lists, then i -> i
  at::Tensor source_scores;       // [sources, heads]: <z_j, att_src>
  at::Tensor destination_scores;  // [destinations, heads]: <z_i, att_dst>
};

struct AttentionGradients {
  at::Tensor z;        // [sources, heads * channels]
  at::Tensor att_src;  // [1, heads, channels]
  at::Tensor att_dst;  // [1, heads, channels]
};

// How it is done. On the CPU, kernels that never hold anything of edges x channels and give the
// same bits whatever the number of threads. On a GPU, and anywhere with `operators`, tensor
// operators that hold a message for every edge; a GPU may change the last bits from run to run.
enum class AttentionPath { by_device, operators };

// z is [sources, heads * channels], att_src and att_dst are [1, heads, channels]; float, all on
// one device.
Attention attend(const at::Tensor& z, const at::Tensor& att_src, const at::Tensor& att_dst,
                 const BlockTensors& block, double negative_slope = 0.2,
                 AttentionPath path = AttentionPath::by_device);

// `saved` is what attend() returned for the same arguments, of which `out` is not read. On the CPU
// the block needs its lists by source.
AttentionGradients attend_backward(const at::Tensor& grad_out, const at::Tensor& z,
                                   const at::Tensor& att_src, const at::Tensor& att_dst,
                                   const Attention& saved, const BlockTensors& block,
                                   double negative_slope = 0.2,
                                   AttentionPath path = AttentionPath::by_device);

}  // namespace plimsoll::nn
