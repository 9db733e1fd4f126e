#include "cli/gpu_facts.h"

#include "base/error.h"
#include "base/host.h"
#include "gate/policy.h"
#include "meter/gpu.h"

namespace plimsoll::cli {
namespace {

#ifdef PLIMSOLL_TORCH_CUDA
constexpr bool kBuiltWithCuda = true;
#else
constexpr bool kBuiltWithCuda = false;
#endif

// Empty where there is no driver, no GPU, or CUDA_VISIBLE_DEVICES hides them all.
std::string first_usable_gpu() {
  try {
    const meter::GpuAccess access = meter::open_gpus();
    if (!access.gpus) return {};
    return gate::choose_gpus("all", access.gpus->read_counters(),
                             Host::real().variable("CUDA_VISIBLE_DEVICES"))
        .front()
        .name;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

launch::GpuFacts gpu_facts() {
  return {kBuiltWithCuda, kBuiltWithCuda ? first_usable_gpu() : std::string()};
}

}  // namespace plimsoll::cli
