#include "nn/adam.h"

#include <ATen/ops/sqrt.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

namespace plimsoll::nn {

Adam::Adam(const at::Tensor& parameters)
    : mean(at::zeros_like(parameters)), square(at::zeros_like(parameters)) {}

void Adam::step(at::Tensor& parameters, at::Tensor& gradient, double lr, double weight_decay) {
  ++steps;
  if (weight_decay > 0) gradient.add_(parameters, weight_decay);
  mean.mul_(kBeta1).add_(gradient, 1 - kBeta1);
  square.mul_(kBeta2).addcmul_(gradient, gradient, 1 - kBeta2);
  const double correction1 = 1 - std::pow(kBeta1, static_cast<double>(steps));
  const double correction2 = 1 - std::pow(kBeta2, static_cast<double>(steps));
  at::Tensor& divisor = gradient;
  at::sqrt_out(divisor, square).div_(std::sqrt(correction2)).add_(kEpsilon);
  parameters.addcdiv_(mean, divisor, -lr / correction1);
}

}  // namespace plimsoll::nn
