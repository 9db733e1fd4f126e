// Cross-entropy with label smoothing, as PyTorch defines it, and its gradient.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll::nn {

struct Loss {
  at::Tensor sum;       // over the rows, a single value on the logits' device
  at::Tensor gradient;  // of sum / count, shaped as the logits
};

// `labels` (int32 or int64) has a class for every row. `count` is what the gradient is divided by:
// the rows of the whole batch, of which these may be a part.
Loss cross_entropy(const at::Tensor& logits, const at::Tensor& labels, double smoothing,
                   int64_t count);

// The column of each row's largest value, int64.
at::Tensor largest_column(const at::Tensor& logits);
// How many rows have their largest value at their label.
at::Tensor count_correct(const at::Tensor& logits, const at::Tensor& labels);

}  // namespace plimsoll::nn
