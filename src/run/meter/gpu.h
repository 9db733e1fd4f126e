// The GPUs of this machine: what each of them holds and does at one moment, and which processes
// hold it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/host.h"
#include "meter/gpu_processes.h"

namespace plimsoll::meter {

// A process that holds memory of a GPU, or may hold some because it has the device open.
struct GpuHolder {
  pid_t pid = 0;
  uint64_t start_ticks = 0;       // with the pid, its identity; 0 if it has ended already
  std::optional<uid_t> user_id;   // unknown for a process of another pid namespace
  std::string user;               // the name of that user, or the number
  std::string command;            // its command line, shortened
  std::optional<uint64_t> bytes;  // what the driver says it holds
  bool listed_by_driver = true;   // false: it only has the device open, as forked workers do
};

struct GpuReading {
  unsigned index = 0;  // as nvidia-smi counts
  std::string uuid;    // "GPU-5d2c..."
  std::string name;    // "NVIDIA H200"
  uint64_t total_bytes = 0;
  uint64_t used_bytes = 0;
  uint64_t free_bytes = 0;
  std::vector<GpuHolder> holders;

  // A value that the device or the driver does not report is missing; it is never 0.
  std::optional<unsigned> utilisation_percent;
  std::optional<double> power_watts;
  std::optional<unsigned> temperature_celsius;
  std::optional<uint64_t> energy_millijoules;  // a counter since the driver was loaded

  // Used memory that no listed process accounts for.
  uint64_t unexplained_bytes() const;
  // Whether that is more than a driver keeps for itself on an unused GPU.
  bool has_unlisted_holder() const;
};

// What an energy meter reads many times a second. A value is missing if the GPU did not answer;
// then a text says why.
struct GpuSample {
  std::optional<double> power_watts;
  std::optional<uint64_t> energy_millijoules;
  std::string no_power_because;
  std::string no_energy_because;
  // Only on request.
  std::optional<unsigned> temperature_celsius;
  std::optional<unsigned> memory_temperature_celsius;
  std::optional<unsigned> utilisation_percent;
  std::optional<unsigned> memory_utilisation_percent;
};

// "python train.py (pid 4711, ada, 5.4 GiB)"
std::string describe(const GpuHolder& holder);
// "python train.py (pid 4711, ada, 5.4 GiB) and unlisted processes (1.2 GiB)"; empty if nothing
// worth mentioning is held.
std::string describe_holders(const GpuReading& reading);

// The driver, for one thread at a time. The NVIDIA library is opened at run time, so that the
// program also starts without it. Tests replace this interface.
class Gpus {
 public:
  Gpus() = default;
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;
  virtual ~Gpus() = default;

  // All GPUs, holders included. Takes milliseconds, and up to a tenth of a second on a machine
  // with tens of thousands of open files. Throws Error{io} if the driver fails.
  virtual std::vector<GpuReading> read() = 0;
  // The same without the holders, for a meter that reads many times a second.
  virtual std::vector<GpuReading> read_counters() = 0;
  // Only what a meter needs, for the GPUs with these indices, in their order: power and the energy
  // counter; with `slow_ones`, also temperatures and utilisation. Does not throw if a GPU fails.
  virtual std::vector<GpuSample> sample(const std::vector<unsigned>& indices, bool slow_ones);
  virtual std::string driver_version() const = 0;
};

// The GPUs, or why there are none: "there is no NVIDIA driver (libnvidia-ml.so.1: cannot
// open shared object file)".
struct GpuAccess {
  std::unique_ptr<Gpus> gpus;
  std::string missing_because;
};

// Opens libnvidia-ml.so.1, or the library that $PLIMSOLL_NVML names.
GpuAccess open_gpus(const Host& host = Host::real());

// The processes that hold the GPU /dev/nvidia`minor`: those that the driver lists, and those that
// have its device open. A process that is listed twice (compute and graphics) counts once; this
// process never counts.
std::vector<GpuHolder> gpu_holders(const std::filesystem::path& proc,
                                   std::span<const ListedProcess> listed,
                                   std::span<const DeviceUser> device_users, unsigned minor);

// By pid: the memory that the process holds on all GPUs together. Nothing for a process that has a
// GPU open but is not listed by the driver, like a forked worker.
using GpuMemory = std::map<pid_t, std::optional<uint64_t>>;

// Empty if there is no driver or it fails.
GpuMemory gpu_memory();

}  // namespace plimsoll::meter
