// Cross-entropy with label smoothing, as in PyTorch, and its gradient.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll::nn {

struct Loss {
  at::Tensor sum;       // over the rows, a single value on the logits' device
  at::Tensor gradient;  // of sum / count; has the shape of the logits
};

// `labels` (int32 or int64) has a class for every row. The gradient is divided by `count`, the
// number of rows of the whole batch; these rows may be a part of it.
Loss cross_entropy(const at::Tensor& logits, const at::Tensor& labels, double smoothing,
                   int64_t count);

// The column of each row's largest value, int64.
at::Tensor largest_column(const at::Tensor& logits);
// How many rows have their largest value in the column of their label.
at::Tensor count_correct(const at::Tensor& logits, const at::Tensor& labels);

}  // namespace plimsoll::nn
