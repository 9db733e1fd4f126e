// Measures what training steps cost on a device, with the real layers, for plans.
#pragma once

#include <c10/core/Device.h>

#include "gpu/rates.h"
#include "memory/ledger.h"
#include "plan/machine.h"

namespace plimsoll::train {

// Measures the cost of training steps on a device with the real layers, for plans. Takes about a
// second and up to 160 MiB of tensors. On a CPU it leaves the number of computing threads set to
// `threads`.
plan::StepRates measure_steps(c10::Device device, unsigned threads);

// Measures what a GPU does in a second that makes its batches itself; nothing if the CPU is in its
// place.
gpu::GpuRates measure_gpu(c10::Device device, memory::Ledger& ledger);

}  // namespace plimsoll::train
