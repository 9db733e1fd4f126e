// The GPUs of this machine. The NVIDIA library is opened while the program runs, so that the
// program starts where there is none; everybody else sees this interface, which tests replace.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "memory/host.h"
#include "meter/gpu.h"

namespace plimsoll::meter {

// Used by one thread at a time.
class Gpus {
 public:
  Gpus() = default;
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;
  virtual ~Gpus() = default;

  // All GPUs, holders included. Takes milliseconds, and up to a tenth of a second on a machine
  // with tens of thousands of open files. Throws Error{io} where the driver fails.
  virtual std::vector<GpuReading> read() = 0;
  // The same without the holders, for a meter that reads many times a second.
  virtual std::vector<GpuReading> read_counters() = 0;
  // The least a meter needs, of the GPUs with these indices, in their order: power and the energy
  // counter; with `slow_ones`, temperatures and utilisation too. Never throws for a GPU that fails.
  virtual std::vector<GpuSample> sample(const std::vector<unsigned>& indices, bool slow_ones);
  virtual std::string driver_version() const = 0;
};

// Either the GPUs, or why there are none: "there is no NVIDIA driver (libnvidia-ml.so.1: cannot
// open shared object file)".
struct GpuAccess {
  std::unique_ptr<Gpus> gpus;
  std::string missing_because;
};

// PLIMSOLL_NVML names another library than libnvidia-ml.so.1.
GpuAccess open_gpus(const memory::Host& host = memory::Host::real());

}  // namespace plimsoll::meter
