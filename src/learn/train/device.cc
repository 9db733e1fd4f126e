#include "train/device.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "base/error.h"
#include "memory/usage.h"

namespace plimsoll::train {

c10::Device choose_device(DeviceKind kind, unsigned local_rank) {
  if (kind == DeviceKind::cpu) return {c10::DeviceType::CPU};
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

memory::Lease lease_runtime(memory::Ledger& ledger, uint64_t planned_bytes) {
  const uint64_t now = memory::process_usage().resident_bytes;
  // Not more than planned if that is enough: under a tight limit the rest is planned for other
  // uses.
  return ledger.lease(kRuntimeTag, now > planned_bytes ? now + kHeapBytes : planned_bytes);
}

bool is_shortage(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const c10::OutOfMemoryError&) {
    return true;
  } catch (const Error& refused) {
    return refused.kind() == ErrorKind::memory;
  } catch (...) {
    return false;
  }
}

}  // namespace plimsoll::train
