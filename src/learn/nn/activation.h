// ReLU and dropout between two layers, in one pass over the values.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll::nn {

struct Dropout {
  double share = 0;  // of the values that become 0; the others are scaled up to compensate
  uint64_t key = 0;  // selects, together with node and column, which values are dropped
};

// The first entries of `nodes` (int32, positions in the store) are the nodes of x's rows. Whether a
// value is dropped depends on its node, so it is the same on every device and if a batch is
// computed in parts. `nodes` is not read without dropout.
void relu_dropout_in_place(at::Tensor& x, const at::Tensor& nodes, const Dropout& dropout);

// Changes `gradient`. `out` is the result of relu_dropout_in_place; a value that was dropped or
// negative is 0 there, so no mask has to be kept.
void relu_dropout_backward_in_place(at::Tensor& gradient, const at::Tensor& out,
                                    double dropped_share);

}  // namespace plimsoll::nn
