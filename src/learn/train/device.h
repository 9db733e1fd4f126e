// Where torch computes.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include "memory/ledger.h"
#include "train/job.h"

namespace plimsoll::train {

// What the user's wish comes to; throws Error{usage} for cuda where there is none.
c10::Device choose_device(DeviceKind kind);

// As much as was planned, or more where it takes that much already.
memory::Lease lease_runtime(memory::Ledger& ledger, uint64_t planned_bytes);

}  // namespace plimsoll::train
