// Batch norm over the columns of [rows, columns], as torch computes it, with its gradient. On a CPU
// the sums over the rows are made in double, by parts that are added in order (nn/threads.h); on a
// GPU they are torch's.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>

#include "nn/layer.h"

namespace plimsoll::nn {

class BatchNorm {
 public:
  BatchNorm(int64_t columns, c10::Device device);

  // While training, by the figures of the rows themselves, which also go into the running ones;
  // what backward needs is kept. Else by the running figures.
  at::Tensor forward(const at::Tensor& x, bool training);
  // Adds to the parameters' gradients. Returns the gradient of x.
  at::Tensor backward(const at::Tensor& gradient);
  // Lets go of what was kept for backward.
  void forget() { x_.reset(); }

  Parameter weight;
  Parameter bias;
  at::Tensor running_mean;
  at::Tensor running_var;
  at::Tensor batches;  // seen while training; an int64 on the CPU

 private:
  void learn_figures(const at::Tensor& x);
  at::Tensor forward_on_cpu(const at::Tensor& x, const at::Tensor& mean,
                            const at::Tensor& inverse_deviation) const;
  at::Tensor forward_on_gpu(const at::Tensor& x, bool training);
  at::Tensor backward_on_cpu(const at::Tensor& gradient);
  at::Tensor backward_on_gpu(const at::Tensor& gradient);

  // Kept from forward to backward.
  at::Tensor x_;
  at::Tensor mean_;
  at::Tensor inverse_deviation_;
};

}  // namespace plimsoll::nn
