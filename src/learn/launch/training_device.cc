#include "launch/training_device.h"

#include "base/error.h"
#include "launch/train_module.h"

namespace plimsoll::launch {
GpuFacts gpu_facts(const std::function<std::string()>& first_usable) {
  const bool cuda = train_library_has_cuda();
  return {cuda, cuda ? first_usable() : std::string()};
}

TrainingDevice training_device(train::DeviceKind wanted, const GpuFacts& facts) {
  if (wanted == train::DeviceKind::cpu) return {};
  if (facts.built_with_cuda && !facts.usable.empty()) return {true, facts.usable};
  if (wanted == train::DeviceKind::cuda) {
    fail(ErrorKind::usage, "--device cuda: {}, or use --device cpu",
         facts.built_with_cuda
             ? "the driver reports no usable GPU; see nvidia-smi and CUDA_VISIBLE_DEVICES"
             : "this plimsoll was built with a libtorch that has no CUDA; `plimsoll torch build` "
               "compiles the training library for a torch that has");
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
