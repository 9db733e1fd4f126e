// ReLU and dropout (nn/operations.h). No mask is stored: whether a value is dropped is a hash of
// its node and column, and backward sees it in the output.
#include <ATen/ops/arange.h>

#include <cmath>

#include "base/random.h"
#include "kernel/kernels.h"
#include "nn/operations.h"
#include "nn/threads.h"

namespace plimsoll::nn {
namespace {

kernel::ReluDropout task_of(const Dropout& dropout) {
  const uint64_t key = mix64(dropout.key);
  return {.key = static_cast<uint32_t>(key),
          .key_high = static_cast<uint32_t>(key >> 32),
          .threshold = static_cast<uint32_t>(std::min(dropout.share * 0x1p32, 0x1p32 - 1)),
          .scale = static_cast<float>(1.0 / (1.0 - dropout.share))};
}

void on_cpu(at::Tensor& x, const at::Tensor& nodes, kernel::ReluDropout task) {
  task.x = x.data_ptr<float>();
  task.nodes = reinterpret_cast<const uint32_t*>(nodes.data_ptr<int32_t>());
  task.columns = static_cast<uint32_t>(x.size(1));
  for_blocks(x.size(0), block_rows(kValuesABlock, x.size(1)), [&](int64_t first, int64_t last) {
    kernel::ReluDropout part = task;
    part.first = static_cast<uint64_t>(first);
    part.last = static_cast<uint64_t>(last);
    kernel::best().relu_dropout(part);
  });
}

void relu_on_cpu(at::Tensor& x) {
  for_blocks(x.size(0), block_rows(kValuesABlock, x.size(1)),
             [&](int64_t first, int64_t last) { x.narrow(0, first, last - first).clamp_min_(0); });
}

// Without branches, so that compilers can vectorise it; a branch would be mispredicted, because the
// values are random. A NaN in the gradient stays NaN.
void let_through(float* __restrict gradient, const float* __restrict out, int64_t count,
                 float scale) {
  for (int64_t i = 0; i < count; ++i) {
    const float factor = out[i] > 0 ? scale : 0.0F;
    gradient[i] = gradient[i] * factor;
  }
}

// In one pass and without a mask.
void backward_on_cpu(at::Tensor& gradient, const at::Tensor& out, float scale) {
  auto* const values = gradient.data_ptr<float>();
  const float* const passed = out.data_ptr<float>();
  for_blocks(gradient.numel(), kValuesABlock, [&](int64_t first, int64_t last) {
    let_through(values + first, passed + first, last - first, scale);
  });
}

// kernel::mix32 on a tensor of 64-bit integers that hold 32-bit words.
at::Tensor mix32(at::Tensor x) {
  constexpr int64_t kWord = 0xffffffff;
  x = x.bitwise_xor(x.bitwise_right_shift(16));
  x = x.mul(int64_t{0x7feb352d}).bitwise_and(kWord);
  x = x.bitwise_xor(x.bitwise_right_shift(15));
  x = x.mul(int64_t{0x846ca68b}).bitwise_and(kWord);
  return x.bitwise_xor(x.bitwise_right_shift(16));
}

void on_gpu(at::Tensor& x, const at::Tensor& nodes, const kernel::ReluDropout& task) {
  constexpr int64_t kWord = 0xffffffff;
  const auto whole = x.options().dtype(at::kLong);
  const at::Tensor row_nodes = nodes.narrow(0, 0, x.size(0)).to(at::kLong).bitwise_and(kWord);
  const at::Tensor rows =
      mix32(row_nodes.bitwise_xor(int64_t{task.key})).add(int64_t{task.key_high});
  const at::Tensor columns = at::arange(x.size(1), whole).mul(int64_t{kernel::kColumnStep});
  const at::Tensor words = mix32(rows.unsqueeze(1).add(columns.unsqueeze(0)).bitwise_and(kWord));
  x.clamp_min_(0).mul_(task.scale).mul_(words.ge(int64_t{task.threshold}));
}

}  // namespace

void relu_dropout_in_place(at::Tensor& x, const at::Tensor& nodes, const Dropout& dropout) {
  if (dropout.share == 0) {
    x.is_cpu() ? relu_on_cpu(x) : void(x.clamp_min_(0));
  } else if (x.is_cpu()) {
    on_cpu(x, nodes, task_of(dropout));
  } else {
    on_gpu(x, nodes, task_of(dropout));
  }
}

void relu_dropout_backward_in_place(at::Tensor& gradient, const at::Tensor& out,
                                    double dropped_share) {
  if (gradient.is_cpu()) {
    backward_on_cpu(gradient, out, static_cast<float>(1.0 / (1.0 - dropped_share)));
    return;
  }
  gradient.mul_(out.gt(0));
  if (dropped_share > 0) gradient.mul_(1.0 / (1.0 - dropped_share));
}

}  // namespace plimsoll::nn
