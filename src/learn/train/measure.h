// What training steps cost on a device, measured with the layers themselves: for plans, which know
// no torch.
#pragma once

#include <c10/core/Device.h>

#include "memory/ledger.h"
#include "plan/machine.h"

namespace plimsoll::train {

// Takes about a second. On a CPU with `threads` threads, which torch keeps. Tensors take up
// to 160 MiB.
plan::StepRates measure_steps(c10::Device device, unsigned threads);

}  // namespace plimsoll::train
