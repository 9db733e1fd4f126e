// What a GPU holds and does at one moment, as values: nothing here talks to a driver.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::meter {

// A process that keeps memory of a GPU, or can.
struct GpuHolder {
  pid_t pid = 0;
  uint64_t start_ticks = 0;       // with the pid, its identity; 0 where it has gone already
  std::optional<uid_t> user_id;   // unknown for a process of another pid namespace
  std::string user;               // the name of that user, or the number
  std::string command;            // its command line, shortened
  std::optional<uint64_t> bytes;  // what the driver says it holds
  bool listed_by_driver = true;   // else it only has the device open, as forked workers do
};

struct GpuReading {
  unsigned index = 0;  // as nvidia-smi counts
  std::string uuid;    // "GPU-5d2c..."
  std::string name;    // "NVIDIA H200"
  uint64_t total_bytes = 0;
  uint64_t used_bytes = 0;
  uint64_t free_bytes = 0;
  std::vector<GpuHolder> holders;

  // Nothing where the device or the driver cannot say: never 0.
  std::optional<unsigned> utilisation_percent;
  std::optional<double> power_watts;
  std::optional<unsigned> temperature_celsius;
  std::optional<uint64_t> energy_millijoules;  // a counter since the driver was loaded

  // Used, and not by anybody the driver lists with an amount.
  uint64_t unexplained_bytes() const;
  // More of that than drivers keep for themselves on a GPU that nobody uses.
  bool has_unlisted_holder() const;
};

// What an energy meter reads many times a second. Nothing where the GPU did not answer, and why.
struct GpuSample {
  std::optional<double> power_watts;
  std::optional<uint64_t> energy_millijoules;
  std::string no_power_because;
  std::string no_energy_because;
  // Only where they were asked for.
  std::optional<unsigned> temperature_celsius;
  std::optional<unsigned> memory_temperature_celsius;
  std::optional<unsigned> utilisation_percent;
  std::optional<unsigned> memory_utilisation_percent;
};

// "python train.py (pid 4711, ada, 5.4 GiB)"
std::string describe(const GpuHolder& holder);
// "python train.py (pid 4711, ada, 5.4 GiB) and nobody listed (1.2 GiB)"; empty where nobody holds
// anything worth a word.
std::string describe_holders(const GpuReading& reading);

}  // namespace plimsoll::meter
