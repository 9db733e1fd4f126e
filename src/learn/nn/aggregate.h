// Sums of rows along a block's edges, and the gradient of that.
#pragma once

#include <ATen/core/Tensor.h>

#include "nn/block_tensors.h"

namespace plimsoll::nn {

// [destinations, columns]: every destination's weighted sum of its sources' rows of x.
at::Tensor aggregate(const at::Tensor& x, const BlockTensors& block);

// [sources, columns]: what a gradient with respect to the sums says of x.
at::Tensor aggregate_backward(const at::Tensor& gradient, const BlockTensors& block);

}  // namespace plimsoll::nn
