// What a training needs to know of this machine's GPUs, asked of the driver.
#pragma once

#include "launch/training_device.h"

namespace plimsoll::cli {

// What this build and the driver say. A device file alone is no GPU.
launch::GpuFacts gpu_facts();

}  // namespace plimsoll::cli
