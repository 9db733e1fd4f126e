// What a command asks of the GPU gate, and what its process is to see of the GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/host.h"
#include "meter/gpu.h"
#include "meter/gpus.h"

namespace plimsoll::gate {

struct Options {
  // --gpu: "0,1", UUIDs, "all" or "none". Empty: the GPUs are none of our business, the command
  // sees what the environment lets it see.
  std::string gpus;
  std::optional<uint64_t> free_bytes;  // --gpu-free, on each of them; without it any room will do
  double wait_seconds = 0;             // --gpu-wait; 0 asks once

  bool wants_gpus() const { return !gpus.empty() && gpus != "none"; }
};

// The GPUs that `text` names, in its order. Throws Error{usage} for one that does not exist, with
// those that do, and for one that `allowed` (an inherited CUDA_VISIBLE_DEVICES, as Slurm sets it)
// leaves out. "all" is all that are allowed.
std::vector<meter::GpuReading> choose_gpus(const std::string& text,
                                           const std::vector<meter::GpuReading>& all,
                                           const std::optional<std::string>& allowed = {});

// For CUDA_VISIBLE_DEVICES: UUIDs, because CUDA counts GPUs in another order than the driver. Empty
// for none, which hides all of them.
std::string visible_devices(const std::vector<meter::GpuReading>& chosen);

// Throws Error{io} that says what to do where `access` has no GPUs.
meter::Gpus& require_gpus(const meter::GpuAccess& access);

}  // namespace plimsoll::gate
