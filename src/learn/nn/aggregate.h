// Sums rows along a block's edges, forward and backward.
#pragma once

#include <ATen/core/Tensor.h>

#include "nn/block_tensors.h"

namespace plimsoll::nn {

// [destinations, columns]: for every destination the weighted sum of its sources' rows of x.
at::Tensor aggregate(const at::Tensor& x, const BlockTensors& block);

// [sources, columns]: the gradient of x, from the gradient of the sums.
at::Tensor aggregate_backward(const at::Tensor& gradient, const BlockTensors& block);

}  // namespace plimsoll::nn
