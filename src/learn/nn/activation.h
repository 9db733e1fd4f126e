// What stands between two layers: ReLU and dropout in one pass over the values.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll::nn {

struct Dropout {
  double share = 0;  // of the values that become 0; the others grow to make up for it
  uint64_t key = 0;  // with node and column decides which
};

// `nodes` (int32, positions in the store) begins with a number for every row of x: a
// value's fate depends on its node, so it is the same on every device and however a batch is cut.
// Without dropout they are not read.
void relu_dropout_in_place(at::Tensor& x, const at::Tensor& nodes, const Dropout& dropout);

// On `gradient`; `out` is what relu_dropout_in_place left. A value that was dropped or negative is
// 0 there, so no mask is kept.
void relu_dropout_backward_in_place(at::Tensor& gradient, const at::Tensor& out,
                                    double dropped_share);

}  // namespace plimsoll::nn
