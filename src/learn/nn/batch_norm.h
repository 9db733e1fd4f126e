// Batch norm over the columns of [rows, columns] like torch, forward and backward. On a CPU the
// sums over the rows are made in double precision, in parts that are added in order (nn/threads.h);
// on a GPU torch makes them.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>

#include "nn/layer.h"

namespace plimsoll::nn {

class BatchNorm {
 public:
  BatchNorm(int64_t columns, c10::Device device);

  // In training: normalises with the mean and variance of the rows, updates the running ones and
  // keeps what backward needs. Else normalises with the running mean and variance.
  at::Tensor forward(const at::Tensor& x, bool training);
  // Adds to the parameters' gradients. Returns the gradient of x.
  at::Tensor backward(const at::Tensor& gradient);
  // Releases what forward kept for backward.
  void forget() { x_.reset(); }

  Parameter weight;
  Parameter bias;
  at::Tensor running_mean;
  at::Tensor running_var;
  at::Tensor batches;  // how many were seen in training; an int64 on the CPU

 private:
  void learn_figures(const at::Tensor& x);
  at::Tensor forward_on_cpu(const at::Tensor& x, const at::Tensor& mean,
                            const at::Tensor& inverse_deviation) const;
  at::Tensor forward_on_gpu(const at::Tensor& x, bool training);
  at::Tensor backward_on_cpu(const at::Tensor& gradient);
  at::Tensor backward_on_gpu(const at::Tensor& gradient);

  // Kept by forward for backward.
  at::Tensor x_;
  at::Tensor mean_;
  at::Tensor inverse_deviation_;
};

}  // namespace plimsoll::nn
