#include "experiment/driver_locks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "experiment/run_folder.h"
#include "gate/options.h"
#include "memory/host.h"
#include "meter/gpus.h"

namespace plimsoll::experiment {

using experiment::RunLock;

RunLock take_lock(const std::filesystem::path& file, const std::string& what,
                  const Waiting& waiting) {
  auto taken = RunLock::take(file, false);
  if (!taken && waiting.wait) {
    waiting.say(fmt::format("waiting: another plimsoll run has {}", what));
    taken = RunLock::take(file, true);
  }
  if (!taken) fail(ErrorKind::exists, "another plimsoll run has {}; --wait waits for it", what);
  return std::move(*taken);
}

GpuClaim claim_gpus(const std::string& gpus, const Waiting& waiting) {
  if (gpus == "none") return {.gpus = "none", .locks = {}};
  const meter::GpuAccess access = meter::open_gpus();
  const auto visible = memory::Host::real().variable("CUDA_VISIBLE_DEVICES");
  const bool hidden = visible && (visible->empty() || *visible == "-1");
  if (gpus.empty() && (!access.gpus || hidden)) return {};
  const auto all = gate::require_gpus(access).read();
  if (gpus.empty() && all.empty()) return {};
  GpuClaim claim{.gpus = gpus.empty() ? "all" : gpus, .locks = {}};
  auto chosen = gate::choose_gpus(claim.gpus, all, visible);
  // In one order, so that two that wait never wait for each other.
  std::sort(chosen.begin(), chosen.end(),
            [](const auto& one, const auto& other) { return one.uuid < other.uuid; });
  for (const auto& gpu : chosen) {
    claim.locks.push_back(
        take_lock(gpu_lock_file(gpu.uuid), fmt::format("GPU {}", gpu.index), waiting));
  }
  return claim;
}

}  // namespace plimsoll::experiment
