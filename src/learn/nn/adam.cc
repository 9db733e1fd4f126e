// The optimizer (nn/model.h). On a CPU the values are updated in blocks that stay in a core's
// cache.
#include <ATen/ops/sqrt.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

#include "nn/model.h"
#include "nn/threads.h"

namespace plimsoll::nn {
namespace {

// One step with torch operations: on a GPU over all values, on a CPU over one block.
struct Step {
  at::Tensor parameters;
  at::Tensor gradient;
  at::Tensor mean;
  at::Tensor square;

  Step part(int64_t first, int64_t last) const {
    const auto of = [&](const at::Tensor& tensor) { return tensor.narrow(0, first, last - first); };
    return {of(parameters), of(gradient), of(mean), of(square)};
  }

  void run(int64_t steps, double lr, double weight_decay) const {
    if (weight_decay > 0) gradient.add_(parameters, weight_decay);
    mean.mul_(Adam::kBeta1).add_(gradient, 1 - Adam::kBeta1);
    square.mul_(Adam::kBeta2).addcmul_(gradient, gradient, 1 - Adam::kBeta2);
    const double correction1 = 1 - std::pow(Adam::kBeta1, static_cast<double>(steps));
    const double correction2 = 1 - std::pow(Adam::kBeta2, static_cast<double>(steps));
    at::Tensor divisor = gradient;  // reuses its memory: the gradient is not needed any more
    at::sqrt_out(divisor, square).div_(std::sqrt(correction2)).add_(Adam::kEpsilon);
    parameters.addcdiv_(mean, divisor, -lr / correction1);
  }
};

}  // namespace

Adam::Adam(const at::Tensor& parameters)
    : mean(at::zeros_like(parameters)), square(at::zeros_like(parameters)) {}

void Adam::step(at::Tensor& parameters, at::Tensor& gradient, double lr, double weight_decay) {
  ++steps;
  const Step whole{parameters, gradient, mean, square};
  constexpr int64_t kBlock = kValuesABlock / 4;  // a few operations on each value
  if (!parameters.is_cpu() || parameters.numel() <= kBlock) {
    whole.run(steps, lr, weight_decay);
    return;
  }
  for_blocks(parameters.numel(), kBlock, [&](int64_t first, int64_t last) {
    whole.part(first, last).run(steps, lr, weight_decay);
  });
}

}  // namespace plimsoll::nn
