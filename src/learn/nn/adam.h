// Adam over one flat tensor of all parameters: a handful of operations a step, however many layers
// there are. The arithmetic is torch.optim.Adam's.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll::nn {

struct Adam {
  explicit Adam(const at::Tensor& parameters);

  // Changes `parameters` by `gradient`, which then holds anything. Allocates nothing, so that no
  // shortage can leave half a step.
  void step(at::Tensor& parameters, at::Tensor& gradient, double lr, double weight_decay);

  static constexpr double kBeta1 = 0.9;
  static constexpr double kBeta2 = 0.999;
  static constexpr double kEpsilon = 1e-8;

  int64_t steps = 0;
  at::Tensor mean;    // of the gradients so far
  at::Tensor square;  // of their squares
};

}  // namespace plimsoll::nn
