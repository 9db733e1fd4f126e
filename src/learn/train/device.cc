#include "train/device.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

#include "base/error.h"
#include "gpu/emulation.h"

namespace plimsoll::train {

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

}  // namespace plimsoll::train
