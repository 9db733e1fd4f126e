#include "energy/energy_use.h"

#include <fmt/format.h>

#include "base/host.h"
#include "base/units.h"
#include "gate/policy.h"
#include "meter/gpu.h"

namespace plimsoll::energy {
namespace {

energy::GpuChoice choose(const std::string& gpus) {
  if (gpus == "none") return {.uuids = {}, .none_because = "--gpu none"};
  const meter::GpuAccess access = meter::open_gpus();
  if (!access.gpus) return {.uuids = {}, .none_because = access.missing_because};
  if (gpus.empty()) return {.uuids = {}, .none_because = "no GPU is visible"};
  energy::GpuChoice choice;
  for (const auto& gpu : gate::choose_gpus(gpus, access.gpus->read_counters(),
                                           Host::real().variable("CUDA_VISIBLE_DEVICES"))) {
    choice.uuids.push_back(gpu.uuid);
  }
  return choice;
}

}  // namespace

std::unique_ptr<energy::Recorder> open_recorder(const EnergyUse& use) {
  auto recorder = std::make_unique<energy::Recorder>(energy::open_sources(choose(use.gpus)));
  use.say(energy::describe(recorder->sources()));
  const std::filesystem::path file = use.folder / "idle_baseline.json";
  if (use.idle_baseline_seconds > 0 && !energy::any(recorder->sources())) {
    use.say("--idle-baseline: no energy counter is available; there will be no net figures");
  } else if (use.idle_baseline_seconds > 0) {
    use.say(fmt::format("measuring the power of the idle machine for {}",
                        format_seconds(use.idle_baseline_seconds)));
    energy::save(recorder->measure_baseline(use.idle_baseline_seconds), file);
  } else if (const auto known = energy::load_baseline(file)) {
    recorder->set_baseline(*known);
  }
  if (recorder->baseline()) use.say(energy::describe(*recorder->baseline()));
  return recorder;
}

}  // namespace plimsoll::energy
