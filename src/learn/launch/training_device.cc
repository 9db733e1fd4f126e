#include "launch/training_device.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "gpu/cuda_accelerator.h"
#include "gpu/emulation.h"
#include "launch/train_module.h"

namespace plimsoll::launch {
namespace {

constexpr const char* kVisibleGpus = "CUDA_VISIBLE_DEVICES";

// What the variable calls this GPU.
std::string visible_gpu(unsigned number) {
  const char* const visible = std::getenv(kVisibleGpus);
  if (visible == nullptr) return fmt::format("{}", number);
  std::istringstream words(visible);
  std::vector<std::string> gpus;
  for (std::string word; std::getline(words, word, ',');) gpus.push_back(word);
  if (number >= gpus.size() || gpus[number].empty()) {
    fail(ErrorKind::usage, "--device cuda:{}: {}={} shows fewer GPUs", number, kVisibleGpus,
         visible);
  }
  return gpus[number];
}

// The first GPU that CUDA may use.
TrainingDevice gpu_named(const std::string& name) {
  if (gpu::emulated()) {
    return {.gpu = true,
            .name = gpu::kEmulatedName,
            .memory_bytes = gpu::kEmulatedBytes,
            .emulated = true};
  }
  const gpu::GpuSize size = gpu::size_of_gpu(0);
  return {
      .gpu = true, .name = name, .memory_bytes = size.total_bytes, .free_bytes = size.free_bytes};
}

}  // namespace

void check_gpu(std::optional<unsigned> number) {
  if (number) visible_gpu(*number);
}

void choose_gpu(std::optional<unsigned> number) {
  if (number) ::setenv(kVisibleGpus, visible_gpu(*number).c_str(), /*overwrite=*/1);
}

GpuFacts gpu_facts(const std::function<std::string()>& first_usable) {
  if (gpu::emulated()) return {true, gpu::kEmulatedName};
  const bool cuda = train_library_has_cuda();
  return {cuda, cuda ? first_usable() : std::string()};
}

TrainingDevice training_device(train::DeviceKind wanted, const GpuFacts& facts) {
  if (wanted == train::DeviceKind::cpu) return {};
  if (facts.built_with_cuda && !facts.usable.empty()) return gpu_named(facts.usable);
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
  return gpu ? gpu_named("GPU") : TrainingDevice{};
}

}  // namespace plimsoll::launch
