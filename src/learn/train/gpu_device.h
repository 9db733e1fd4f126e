// Opens a GPU for code that computes on it without torch (gpu/accelerator.h).
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "gpu/accelerator.h"
#include "gpu/cuda_accelerator.h"

namespace plimsoll::train {

// Why this GPU cannot make batches of any recipe; empty if it can. Compiles the device code for
// these fan-outs.
std::string gpu_problem(c10::Device device, const std::set<uint32_t>& fanouts);

// Opens the GPU, or the CPU in its place if gpu::emulated(). Torch 2.9 and later first release
// cached GPU memory.
std::unique_ptr<gpu::Accelerator> open_gpu(const gpu::CudaAccelerator::Options& options);

}  // namespace plimsoll::train
