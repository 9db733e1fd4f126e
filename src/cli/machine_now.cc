#include "cli/machine_now.h"

#include "base/error.h"
#include "base/units.h"
#include "gate/options.h"
#include "memory/host.h"

namespace plimsoll::cli {

experiment::MachineNow MachineWatch::read() {
  experiment::MachineNow now;
  if (access_.gpus) {
    try {
      now.gpus = gate::choose_gpus(gpus_, access_.gpus->read_counters(),
                                   memory::Host::real().variable("CUDA_VISIBLE_DEVICES"));
    } catch (const Error&) {  // a driver that fails now spoils no batch
      access_.gpus.reset();
    }
  }
  const std::string text = memory::read_text("/proc/meminfo").value_or("");
  now.ram_total_bytes = memory::number_of(text, "MemTotal:").value_or(0) * kKiB;
  now.ram_used_bytes =
      now.ram_total_bytes - memory::number_of(text, "MemAvailable:").value_or(0) * kKiB;
  return now;
}

}  // namespace plimsoll::cli
