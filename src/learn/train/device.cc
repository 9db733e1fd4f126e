#include "train/device.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#if __has_include(<c10/core/CachingDeviceAllocator.h>)
#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)
#define PLIMSOLL_CAN_EMPTY_CACHE
#endif
#endif
#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "gpu/cuda_functions.h"
#include "gpu/emulation.h"
#include "gpu/host_accelerator.h"

namespace plimsoll::train {
namespace {

// The folder of the libtorch that this library uses.
std::filesystem::path torch_folder() {
  Dl_info info = {};
  const auto* const function = reinterpret_cast<const void*>(&at::globalContext);
  if (::dladdr(function, &info) == 0 || info.dli_fname == nullptr) return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

// Torch keeps the memory of tensors that are gone, for later ones. Versions that offer no way to
// take it back keep it.
void release_unused_tensors() {
#ifdef PLIMSOLL_CAN_EMPTY_CACHE
  if (auto* const allocator =
          dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(c10::DeviceType::CUDA))) {
    allocator->emptyCache();
  }
#endif
}

}  // namespace

c10::Device choose_device(DeviceKind kind, unsigned local_rank) {
  if (kind == DeviceKind::cpu || gpu::emulated()) return {c10::DeviceType::CPU};
  if (at::hasCUDA()) {
    // A launcher may show each rank its own GPU only.
    const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
    const unsigned gpus = std::max<unsigned>(1, guard.deviceCount());
    return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(local_rank % gpus)};
  }
  if (kind == DeviceKind::cuda) {
    fail(ErrorKind::usage,
         "--device cuda: this libtorch has no CUDA, or the machine no usable GPU; build against a "
         "libtorch with CUDA (see README), or use --device cpu");
  }
  return {c10::DeviceType::CPU};
}

std::string gpu_problem(c10::Device device, const std::set<uint32_t>& fanouts) {
  if (gpu::emulated()) return gpu::emulated_problem();
  gpu::cuda::look_first_in(gpu::cuda::cuda_folders(torch_folder()));
  return gpu::device_code_problem(device.index(), fanouts);
}

std::unique_ptr<gpu::Accelerator> open_gpu(const gpu::CudaAccelerator::Options& options) {
  if (gpu::emulated()) return std::make_unique<gpu::HostAccelerator>(options.limit_bytes);
  release_unused_tensors();
  gpu::cuda::look_first_in(gpu::cuda::cuda_folders(torch_folder()));
  return std::make_unique<gpu::CudaAccelerator>(options);
}

}  // namespace plimsoll::train
