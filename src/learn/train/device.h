// The device that computes: torch's choice of it, and the same GPU opened for code that computes on
// it without torch (gpu/accelerator.h).
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "gpu/accelerator.h"
#include "gpu/cuda_accelerator.h"
#include "train/job.h"

namespace plimsoll::train {

// The device for what the user asked for; of several GPUs the one with the rank's number on this
// host. Throws Error{usage} for cuda if there is no GPU.
c10::Device choose_device(DeviceKind kind, unsigned local_rank = 0);

// Why this GPU cannot make batches of any recipe; empty if it can. Compiles the device code for
// these fan-outs.
std::string gpu_problem(c10::Device device, const std::set<uint32_t>& fanouts);

// Opens the GPU, or the CPU in its place if gpu::emulated(). Torch 2.9 and later first release
// cached GPU memory.
std::unique_ptr<gpu::Accelerator> open_gpu(const gpu::CudaAccelerator::Options& options);

}  // namespace plimsoll::train
