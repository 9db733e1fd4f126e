// Matrix products (nn/operations.h), on a CPU in blocks of rows.
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>

#include <algorithm>

#include "nn/operations.h"
#include "nn/threads.h"

namespace plimsoll::nn {
namespace {

// The size of blocks. With fewer rows than kLeastRows, BLAS would spend its time on rearranging the
// other matrix; with more than kMostRows, threads would wait for the last block.
constexpr int64_t kLeastRows = kLeastPartRows;
constexpr int64_t kMostRows = 512;
constexpr int64_t kGradientRows = 128;  // rows of a large gradient per block

// The rows of a per block in a product with b.
int64_t rows_of_block(const at::Tensor& a, const at::Tensor& b) {
  const int64_t worthwhile = block_rows(kMultiplicationsABlock, a.size(1) * b.size(1));
  return std::max(worthwhile, std::clamp(a.size(0) / kMostParts, kLeastRows, kMostRows));
}

bool in_one_piece(const at::Tensor& a, int64_t block) { return !a.is_cpu() || a.size(0) <= block; }

at::Tensor rows_of(const at::Tensor& tensor, int64_t first, int64_t last) {
  return tensor.narrow(0, first, last - first);
}

// Adds parts[0], parts[1], ... to `to`, in that order for every value.
void add_in_order(const at::Tensor& to, const at::Tensor& parts) {
  const int64_t values = to.numel();
  const int64_t count = parts.size(0);
  for_blocks(values, kValuesABlock / kMostParts, [&](int64_t first, int64_t last) {
    auto* const sum = to.data_ptr<float>();
    for (int64_t part = 0; part < count; ++part) {
      const float* const from = parts.data_ptr<float>() + part * values;
      for (int64_t i = first; i < last; ++i) sum[i] += from[i];
    }
  });
}

}  // namespace

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  const int64_t block = rows_of_block(a, b);
  if (in_one_piece(a, block)) return at::mm(a, b);
  at::Tensor out = at::empty({a.size(0), b.size(1)}, a.options());
  for_blocks(a.size(0), block, [&](int64_t first, int64_t last) {
    at::Tensor part = rows_of(out, first, last);
    at::mm_out(part, rows_of(a, first, last), b);
  });
  return out;
}

at::Tensor product_plus_bias(const at::Tensor& bias, const at::Tensor& a, const at::Tensor& b) {
  const int64_t block = rows_of_block(a, b);
  if (in_one_piece(a, block)) return at::addmm(bias, a, b);
  at::Tensor out = at::empty({a.size(0), b.size(1)}, a.options());
  for_blocks(a.size(0), block, [&](int64_t first, int64_t last) {
    at::Tensor part = rows_of(out, first, last);
    at::addmm_out(part, bias, rows_of(a, first, last), b);
  });
  return out;
}

void add_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  const int64_t block = rows_of_block(a, b);
  if (in_one_piece(a, block)) {
    out.addmm_(a, b);
    return;
  }
  for_blocks(a.size(0), block, [&](int64_t first, int64_t last) {
    rows_of(out, first, last).addmm_(rows_of(a, first, last), b);
  });
}

void add_transposed_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  const int64_t rows = a.size(0);
  if (a.is_cpu() && !has_parts(out.numel())) {
    for_blocks(out.size(0), kGradientRows, [&](int64_t first, int64_t last) {
      rows_of(out, first, last).addmm_(a.narrow(1, first, last - first).t(), b);
    });
    return;
  }
  const int64_t block = part_rows(rows, rows_of_block(a, b));
  if (in_one_piece(a, block)) {
    out.addmm_(a.t(), b);
    return;
  }
  // The first part is added directly to `out`.
  const at::Tensor parts = at::empty({(rows - 1) / block, a.size(1), b.size(1)}, a.options());
  for_blocks(rows, block, [&](int64_t first, int64_t last) {
    const at::Tensor from = rows_of(a, first, last).t();
    const at::Tensor with = rows_of(b, first, last);
    if (first == 0) {
      out.addmm_(from, with);
    } else {
      at::Tensor part = parts.select(0, first / block - 1);
      at::mm_out(part, from, with);
    }
  });
  add_in_order(out, parts);
}

void add_column_sums(const at::Tensor& out, const at::Tensor& a) {
  const int64_t rows = a.size(0);
  const int64_t block = part_rows(rows, block_rows(kValuesABlock, a.size(1)));
  if (in_one_piece(a, block)) {
    out.add_(a.sum(0));
    return;
  }
  const at::Tensor parts = at::empty({(rows + block - 1) / block, a.size(1)}, a.options());
  for_blocks(rows, block, [&](int64_t first, int64_t last) {
    at::Tensor part = parts.select(0, first / block);
    at::sum_out(part, rows_of(a, first, last), 0);
  });
  add_in_order(out, parts);
}

void add_bias(const at::Tensor& x, const at::Tensor& bias) {
  const int64_t block = block_rows(kValuesABlock, x.size(1));
  if (in_one_piece(x, block)) {
    x.add_(bias);
    return;
  }
  for_blocks(x.size(0), block,
             [&](int64_t first, int64_t last) { rows_of(x, first, last).add_(bias); });
}

}  // namespace plimsoll::nn
