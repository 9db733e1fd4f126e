#include "train/device.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <new>

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

std::optional<Error> as_error(const std::exception_ptr& exception) {
  constexpr const char* kFullGpu =
      "The GPU is full; stop other programs that use it, or use --device cpu";
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::memory,
                 "the system gives this process no more memory; stop other programs, or raise what "
                 "the system allows (ulimit -v)");
  } catch (const c10::OutOfMemoryError& error) {
    return Error(ErrorKind::memory,
                 fmt::format("{}\n{}", error.what_without_backtrace(), kFullGpu));
  } catch (const c10::Error& error) {
    const std::string what = error.what_without_backtrace();
    // cuBLAS reports a GPU that another process has filled in its own way.
    if (what.find("ALLOC_FAILED") != std::string::npos) {
      return Error(ErrorKind::memory, fmt::format("{}\n{}", what, kFullGpu));
    }
    return Error(ErrorKind::internal, what);
  } catch (...) {
    return {};
  }
}

bool is_shortage(const std::exception_ptr& exception) {
  const auto error = as_error(exception);
  return error && error->kind() == ErrorKind::memory;
}

}  // namespace plimsoll::train
