#include "experiment/machine_now.h"

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "gate/options.h"
#include "memory/host.h"

namespace plimsoll::experiment {

// None where there is no driver, or where it fails now: that spoils no batch.
std::vector<meter::GpuReading> MachineWatch::gpus(bool with_holders) {
  if (!std::exchange(opened_, true) && gpus_ != "none") access_ = meter::open_gpus();
  if (!access_.gpus) return {};
  try {
    return gate::choose_gpus(gpus_,
                             with_holders ? access_.gpus->read() : access_.gpus->read_counters(),
                             memory::Host::real().variable("CUDA_VISIBLE_DEVICES"));
  } catch (const Error&) {
    access_.gpus.reset();
    return {};
  }
}

bool MachineWatch::compute_for(const std::vector<pid_t>& processes) {
  const auto is_one_of_them = [&](const meter::GpuHolder& holder) {
    return std::find(processes.begin(), processes.end(), holder.pid) != processes.end();
  };
  const auto all = gpus(true);
  return std::any_of(all.begin(), all.end(), [&](const meter::GpuReading& gpu) {
    return gpu.utilisation_percent.value_or(1) > 0 &&
           std::any_of(gpu.holders.begin(), gpu.holders.end(), is_one_of_them);
  });
}

experiment::MachineNow MachineWatch::read() {
  experiment::MachineNow now{.gpus = gpus(false)};
  const std::string text = memory::read_text("/proc/meminfo").value_or("");
  now.ram_total_bytes = memory::number_of(text, "MemTotal:").value_or(0) * kKiB;
  now.ram_used_bytes =
      now.ram_total_bytes - memory::number_of(text, "MemAvailable:").value_or(0) * kKiB;
  return now;
}

}  // namespace plimsoll::experiment
