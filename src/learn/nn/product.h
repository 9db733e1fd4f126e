// The matrix products of forward and backward. On a CPU they are computed in blocks of rows; BLAS
// multiplies each block on one thread (nn/threads.h).
#pragma once

#include <ATen/core/Tensor.h>

namespace plimsoll::nn {

// a b.
at::Tensor product(const at::Tensor& a, const at::Tensor& b);
// a b + bias, where `bias` is added to every row.
at::Tensor product_plus_bias(const at::Tensor& bias, const at::Tensor& a, const at::Tensor& b);
// out += a b.
void add_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b);
// out += a^T b: a sum over the rows of both, made in parts that are added in order. `out` must be
// contiguous.
void add_transposed_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b);

// out += the sum of a's rows, also made in parts.
void add_column_sums(const at::Tensor& out, const at::Tensor& a);
// Adds `bias` to every row of x.
void add_bias(const at::Tensor& x, const at::Tensor& bias);

}  // namespace plimsoll::nn
