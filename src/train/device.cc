#include "train/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>

#include "base/error.h"
#include "base/units.h"
#include "memory/usage.h"

namespace plimsoll::train {
namespace {

constexpr uint64_t kHeapBytes = 16 * kMiB;  // that small tensors and threads' stacks will take

}  // namespace

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

memory::Lease lease_runtime(memory::Ledger& ledger, c10::Device device) {
  const uint64_t expected = device.is_cpu() ? kRuntimeBytes : kGpuRuntimeBytes;
  const uint64_t now = memory::process_usage().resident_bytes;
  // No more than was planned, while that will do: the rest of a tight limit is meant for others.
  return ledger.lease(kRuntimeTag, now > expected ? now + kHeapBytes : expected);
}

void set_computing_threads(unsigned threads) {
  at::set_num_threads(static_cast<int>(threads));
  // OpenBLAS with its own threads does not hear of torch's number.
  for (const char* name : {"libopenblas.so.0", "libblas.so.3"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) continue;
    if (void* set = dlsym(library, "openblas_set_num_threads")) {
      reinterpret_cast<void (*)(int)>(set)(static_cast<int>(threads));
    }
    dlclose(library);
  }
}

}  // namespace plimsoll::train
