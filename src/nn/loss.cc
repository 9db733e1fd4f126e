#include "nn/loss.h"

#include <ATen/ops/argmax.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>

namespace plimsoll::nn {

Loss cross_entropy(const at::Tensor& logits, const at::Tensor& labels, double smoothing,
                   int64_t count) {
  const auto classes = static_cast<double>(logits.size(1));
  const at::Tensor log_shares = at::log_softmax(logits, 1);
  const at::Tensor at_label = labels.to(at::kLong).unsqueeze(1);
  at::Tensor sum = log_shares.gather(1, at_label).sum().mul_(smoothing - 1);
  at::Tensor gradient = log_shares.exp();
  if (smoothing > 0) {
    sum.sub_(log_shares.sum().mul_(smoothing / classes));
    gradient.sub_(smoothing / classes);
  }
  gradient.scatter_add_(1, at_label, at::full(at_label.sizes(), smoothing - 1, logits.options()));
  gradient.mul_(1.0 / static_cast<double>(count));
  return {sum, gradient};
}

at::Tensor count_correct(const at::Tensor& logits, const at::Tensor& labels) {
  return at::argmax(logits, 1).eq(labels).sum();
}

}  // namespace plimsoll::nn
