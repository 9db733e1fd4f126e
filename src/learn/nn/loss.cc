// Cross-entropy and accuracy (nn/operations.h). The gradient is made together with the loss, in the
// memory of the logits' softmax.
#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>

#include "nn/operations.h"
#include "nn/threads.h"

namespace plimsoll::nn {
namespace {

// How many rows are computed together; on a GPU all.
int64_t rows_of_block(const at::Tensor& logits) {
  return logits.is_cpu() ? block_rows(kValuesABlock / 4, logits.size(1)) : logits.size(0);
}

// Fills `gradient` and returns the sum.
at::Tensor cross_entropy_of(const at::Tensor& logits, const at::Tensor& labels, double smoothing,
                            int64_t count, at::Tensor gradient) {
  const auto classes = static_cast<double>(logits.size(1));
  at::_log_softmax_out(gradient, logits, 1, /*half_to_float=*/false);
  const at::Tensor at_label = labels.to(at::kLong).unsqueeze(1);
  at::Tensor sum = gradient.gather(1, at_label).sum().mul_(smoothing - 1);
  if (smoothing > 0) sum.sub_(gradient.sum().mul_(smoothing / classes));
  gradient.exp_();
  if (smoothing > 0) gradient.sub_(smoothing / classes);
  gradient.scatter_add_(1, at_label, at::full(at_label.sizes(), smoothing - 1, logits.options()));
  gradient.mul_(1.0 / static_cast<double>(count));
  return sum;
}

}  // namespace

Loss cross_entropy(const at::Tensor& logits, const at::Tensor& labels, double smoothing,
                   int64_t count) {
  const int64_t rows = logits.size(0);
  const int64_t block = rows_of_block(logits);
  const at::Tensor gradient = at::empty_like(logits);
  if (rows <= block) {
    return {cross_entropy_of(logits, labels, smoothing, count, gradient), gradient};
  }
  const at::Tensor sums = at::empty({(rows + block - 1) / block}, logits.options());
  for_blocks(rows, block, [&](int64_t first, int64_t last) {
    const auto part = [&](const at::Tensor& of) { return of.narrow(0, first, last - first); };
    sums.select(0, first / block)
        .copy_(cross_entropy_of(part(logits), part(labels), smoothing, count, part(gradient)));
  });
  return {sums.sum(), gradient};
}

at::Tensor largest_column(const at::Tensor& logits) {
  const int64_t rows = logits.size(0);
  const int64_t block = rows_of_block(logits);
  if (rows <= block) return at::argmax(logits, 1);
  at::Tensor columns = at::empty({rows}, logits.options().dtype(at::kLong));
  for_blocks(rows, block, [&](int64_t first, int64_t last) {
    at::Tensor part = columns.narrow(0, first, last - first);
    at::argmax_out(part, logits.narrow(0, first, last - first), 1);
  });
  return columns;
}

at::Tensor count_correct(const at::Tensor& logits, const at::Tensor& labels) {
  return largest_column(logits).eq(labels).sum();
}

}  // namespace plimsoll::nn
