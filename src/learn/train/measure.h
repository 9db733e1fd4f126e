// Measures the cost of training steps on a device with the real layers. Plans use the result; they
// do not need torch.
#pragma once

#include <c10/core/Device.h>

#include "memory/ledger.h"
#include "plan/machine.h"

namespace plimsoll::train {

// Takes about a second and up to 160 MiB of tensors. On a CPU it leaves the number of computing
// threads set to `threads`.
plan::StepRates measure_steps(c10::Device device, unsigned threads);

}  // namespace plimsoll::train
