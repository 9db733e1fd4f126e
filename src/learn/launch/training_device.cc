#include "launch/training_device.h"

#include "base/error.h"

namespace plimsoll::launch {
TrainingDevice training_device(train::DeviceKind wanted, const GpuFacts& facts) {
  if (wanted == train::DeviceKind::cpu) return {};
  if (facts.built_with_cuda && !facts.usable.empty()) return {true, facts.usable};
  if (wanted == train::DeviceKind::cuda) {
    fail(ErrorKind::usage, "--device cuda: {}, or use --device cpu",
         facts.built_with_cuda
             ? "the driver reports no usable GPU; see nvidia-smi and CUDA_VISIBLE_DEVICES"
             : "this plimsoll was built with a libtorch that has no CUDA; build against one that "
               "has (see README)");
  }
  return {};
}

TrainingDevice settled_device(train::DeviceKind wanted, bool torch_has_gpu,
                              const TrainingDevice& expected) {
  const bool gpu = torch_has_gpu && wanted != train::DeviceKind::cpu;
  if (!gpu && wanted == train::DeviceKind::cuda) {
    fail(ErrorKind::usage,
         "--device cuda: torch finds no usable GPU, although the driver reports {}; check that the "
         "driver is new enough for this libtorch, or use --device cpu",
         expected.name);
  }
  if (gpu == expected.gpu) return expected;
  return gpu ? TrainingDevice{true, "GPU"} : TrainingDevice{};
}

}  // namespace plimsoll::launch
