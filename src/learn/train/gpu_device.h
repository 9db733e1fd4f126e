// Opens a GPU for code that computes on it without torch (gpu/accelerator.h).
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "gpu/accelerator.h"

namespace plimsoll::train {

struct GpuOptions {
  c10::Device device;          // torch's name for it
  std::set<uint32_t> fanouts;  // of what will be drawn
  uint64_t limit_bytes = 0;    // of its ledger
  bool tf32 = false;           // matrix products in reduced precision
};

// Why it cannot make batches, whatever the recipe; empty if it can. What must be compiled for these
// fan-outs is compiled.
std::string gpu_problem(c10::Device device, const std::set<uint32_t>& fanouts);

// The CPU in its place if gpu::emulated(). Torch gives back the GPU's memory that it keeps for
// later tensors.
std::unique_ptr<gpu::Accelerator> open_gpu(const GpuOptions& options);

}  // namespace plimsoll::train
