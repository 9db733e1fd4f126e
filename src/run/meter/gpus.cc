#include "meter/gpus.h"

#include <algorithm>

#include "base/error.h"

namespace plimsoll::meter {
namespace {

GpuSample sample_of(const GpuReading& reading) {
  return {.power_watts = reading.power_watts,
          .energy_millijoules = reading.energy_millijoules,
          .no_power_because = reading.power_watts ? "" : "this GPU does not say its power",
          .no_energy_because = reading.energy_millijoules ? "" : "this GPU has no energy counter",
          .temperature_celsius = reading.temperature_celsius,
          .memory_temperature_celsius = {},
          .utilisation_percent = reading.utilisation_percent,
          .memory_utilisation_percent = {}};
}

}  // namespace

std::vector<GpuSample> Gpus::sample(const std::vector<unsigned>& indices, bool /*slow_ones*/) {
  std::vector<GpuReading> readings;
  std::string failure = "this GPU is not there";
  try {
    readings = read_counters();
  } catch (const Error& error) {
    failure = error.what();
  }
  std::vector<GpuSample> samples;
  for (const unsigned index : indices) {
    const auto found = std::ranges::find(readings, index, &GpuReading::index);
    GpuSample missing{.no_power_because = failure, .no_energy_because = failure};
    samples.push_back(found == readings.end() ? std::move(missing) : sample_of(*found));
  }
  return samples;
}

}  // namespace plimsoll::meter
