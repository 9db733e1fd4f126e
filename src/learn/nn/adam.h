// Adam over one flat tensor of all parameters: a few operations per step, for any number of layers.
// The arithmetic is the same as in torch.optim.Adam.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace plimsoll::nn {

struct Adam {
  explicit Adam(const at::Tensor& parameters);

  // Updates `parameters`. Overwrites `gradient`, which is undefined afterwards. Allocates nothing,
  // so a lack of memory cannot interrupt a step.
  void step(at::Tensor& parameters, at::Tensor& gradient, double lr, double weight_decay);

  static constexpr double kBeta1 = 0.9;
  static constexpr double kBeta2 = 0.999;
  static constexpr double kEpsilon = 1e-8;

  int64_t steps = 0;
  at::Tensor mean;    // moving average of the gradients
  at::Tensor square;  // moving average of their squares
};

}  // namespace plimsoll::nn
