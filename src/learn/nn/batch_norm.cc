// Batch norm (nn/layer.h). On a CPU, sums over rows are made in parts of a fixed size, so that they
// do not depend on the number of threads.
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <functional>
#include <tuple>
#include <vector>

#include "nn/layer.h"
#include "nn/threads.h"

namespace plimsoll::nn {
namespace {

constexpr double kMomentum = 0.1;
constexpr double kEpsilon = 1e-5;

// Makes `count` sums over all rows. `add` adds one row to the sums of its part.
std::vector<double> sum_rows(const at::Tensor& x, int64_t count,
                             const std::function<void(int64_t row, double* sums)>& add) {
  const int64_t rows = x.size(0);
  const int64_t block = part_rows(rows, block_rows(kValuesABlock, x.size(1)));
  const int64_t parts = (rows + block - 1) / block;
  const at::Tensor all = at::zeros({parts, count}, at::kDouble);  // leased, as all tensors
  auto* const sums = all.data_ptr<double>();
  for_blocks(rows, block, [&](int64_t first, int64_t last) {
    double* const part = sums + first / block * count;
    for (int64_t row = first; row < last; ++row) add(row, part);
  });
  for (int64_t part = 1; part < parts; ++part) {
    for (int64_t i = 0; i < count; ++i) sums[i] += sums[part * count + i];
  }
  return {sums, sums + count};
}

}  // namespace

BatchNorm::BatchNorm(int64_t columns, c10::Device device)
    : weight{"weight", {columns}, 0},
      bias{"bias", {columns}, 0},
      running_mean(at::zeros({columns}, at::TensorOptions().device(device))),
      running_var(at::ones({columns}, at::TensorOptions().device(device))),
      batches(at::zeros({}, at::TensorOptions().dtype(at::kLong))) {}

at::Tensor BatchNorm::forward(const at::Tensor& x, bool training) {
  if (training) {
    batches.add_(1);
    x_ = x.contiguous();
  }
  if (!x.is_cpu()) return forward_on_gpu(x, training);
  if (training) {
    learn_figures(x_);
    return forward_on_cpu(x_, mean_, inverse_deviation_);
  }
  return forward_on_cpu(x.contiguous(), running_mean, at::rsqrt(running_var.add(kEpsilon)));
}

at::Tensor BatchNorm::backward(const at::Tensor& gradient) {
  at::Tensor result =
      gradient.is_cpu() ? backward_on_cpu(gradient.contiguous()) : backward_on_gpu(gradient);
  forget();
  return result;
}

void BatchNorm::learn_figures(const at::Tensor& x) {
  const int64_t columns = x.size(1);
  const auto rows = static_cast<double>(x.size(0));
  const float* const values = x.data_ptr<float>();
  std::vector<double> means = sum_rows(x, columns, [&](int64_t row, double* sums) {
    for (int64_t c = 0; c < columns; ++c) sums[c] += values[row * columns + c];
  });
  for (double& mean : means) mean /= rows;
  const std::vector<double> squares = sum_rows(x, columns, [&](int64_t row, double* sums) {
    for (int64_t c = 0; c < columns; ++c) {
      const double difference = values[row * columns + c] - means[c];
      sums[c] += difference * difference;
    }
  });
  mean_ = at::empty_like(running_mean);
  inverse_deviation_ = at::empty_like(running_mean);
  // A single row has no variance, so it does not update the running values.
  const bool learns = rows > 1;
  const auto mix = [&](float& running, double figure) {
    if (learns) running = static_cast<float>((1 - kMomentum) * running + kMomentum * figure);
  };
  for (int64_t c = 0; c < columns; ++c) {
    mean_.data_ptr<float>()[c] = static_cast<float>(means[c]);
    inverse_deviation_.data_ptr<float>()[c] =
        static_cast<float>(1 / std::sqrt(squares[c] / rows + kEpsilon));
    mix(running_mean.data_ptr<float>()[c], means[c]);
    mix(running_var.data_ptr<float>()[c], squares[c] / (rows - 1));
  }
}

at::Tensor BatchNorm::forward_on_cpu(const at::Tensor& x, const at::Tensor& mean,
                                     const at::Tensor& inverse_deviation) const {
  const int64_t columns = x.size(1);
  at::Tensor out = at::empty_like(x);
  const at::Tensor factors = inverse_deviation.mul(weight.value);
  for_blocks(x.size(0), block_rows(kValuesABlock, columns), [&](int64_t first, int64_t last) {
    const float* const means = mean.data_ptr<float>();
    const float* const factor = factors.data_ptr<float>();
    const float* const shift = bias.value.data_ptr<float>();
    for (int64_t row = first; row < last; ++row) {
      const float* const from = x.data_ptr<float>() + row * columns;
      float* const to = out.data_ptr<float>() + row * columns;
      for (int64_t c = 0; c < columns; ++c) to[c] = (from[c] - means[c]) * factor[c] + shift[c];
    }
  });
  return out;
}

at::Tensor BatchNorm::backward_on_cpu(const at::Tensor& gradient) {
  const int64_t columns = gradient.size(1);
  const auto rows = static_cast<double>(gradient.size(0));
  const float* const grads = gradient.data_ptr<float>();
  const float* const values = x_.data_ptr<float>();
  const float* const means = mean_.data_ptr<float>();
  const float* const inverse = inverse_deviation_.data_ptr<float>();
  // The sums of the gradient, then the sums of its products with x - mean.
  const std::vector<double> sums = sum_rows(x_, 2 * columns, [&](int64_t row, double* to) {
    for (int64_t c = 0; c < columns; ++c) {
      const double grad = grads[row * columns + c];
      to[c] += grad;
      to[columns + c] += grad * (values[row * columns + c] - means[c]);
    }
  });
  std::vector<float> grad_mean(columns), slope(columns), factor(columns);
  for (int64_t c = 0; c < columns; ++c) {
    const double dot = sums[columns + c] * inverse[c];
    bias.gradient.data_ptr<float>()[c] += static_cast<float>(sums[c]);
    weight.gradient.data_ptr<float>()[c] += static_cast<float>(dot);
    grad_mean[c] = static_cast<float>(sums[c] / rows);
    slope[c] = static_cast<float>(dot * inverse[c] / rows);
    factor[c] = inverse[c] * weight.value.data_ptr<float>()[c];
  }
  at::Tensor out = at::empty_like(gradient);
  auto* const to = out.data_ptr<float>();
  for_blocks(x_.size(0), block_rows(kValuesABlock, columns), [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t i = row * columns + c;
        to[i] = (grads[i] - grad_mean[c] - (values[i] - means[c]) * slope[c]) * factor[c];
      }
    }
  });
  return out;
}

at::Tensor BatchNorm::forward_on_gpu(const at::Tensor& x, bool training) {
  const bool learns = !training || x.size(0) > 1;
  auto [out, mean, inverse_deviation] =
      at::native_batch_norm(x, weight.value, bias.value, learns ? running_mean : at::Tensor(),
                            learns ? running_var : at::Tensor(), training, kMomentum, kEpsilon);
  if (training) {
    mean_ = mean;
    inverse_deviation_ = inverse_deviation;
  }
  return out;
}

at::Tensor BatchNorm::backward_on_gpu(const at::Tensor& gradient) {
  auto [x_gradient, weight_gradient, bias_gradient] = at::native_batch_norm_backward(
      gradient, x_, weight.value, running_mean, running_var, mean_, inverse_deviation_,
      /*train=*/true, kEpsilon, {true, true, true});
  weight.gradient.add_(weight_gradient);
  bias.gradient.add_(bias_gradient);
  return x_gradient;
}

}  // namespace plimsoll::nn
