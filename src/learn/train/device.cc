#include "train/device.h"

#include <ATen/Context.h>

#include "base/error.h"
#include "memory/usage.h"

namespace plimsoll::train {

c10::Device choose_device(DeviceKind kind) {
  if (kind == DeviceKind::cpu) return {c10::DeviceType::CPU};
  if (at::hasCUDA()) return {c10::DeviceType::CUDA, 0};
  if (kind == DeviceKind::cuda) {
    fail(ErrorKind::usage,
         "--device cuda: this libtorch has no CUDA, or the machine no usable GPU; build against a "
         "libtorch with CUDA (see README), or use --device cpu");
  }
  return {c10::DeviceType::CPU};
}

memory::Lease lease_runtime(memory::Ledger& ledger, uint64_t planned_bytes) {
  const uint64_t now = memory::process_usage().resident_bytes;
  // No more than was planned, while that will do: the rest of a tight limit is meant for others.
  return ledger.lease(kRuntimeTag, now > planned_bytes ? now + kHeapBytes : planned_bytes);
}

}  // namespace plimsoll::train
