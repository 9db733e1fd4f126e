// The choice of the device that computes.
#pragma once

#include <c10/core/Device.h>

#include "train/job.h"

namespace plimsoll::train {

// The device for what the user asked for; of several GPUs the one with the rank's number on this
// host. Throws Error{usage} for cuda if there is no GPU.
c10::Device choose_device(DeviceKind kind, unsigned local_rank = 0);

}  // namespace plimsoll::train
