// Where torch computes.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include "memory/ledger.h"
#include "train/job.h"

namespace plimsoll::train {

// What the user's wish comes to; throws Error{usage} for cuda where there is none.
c10::Device choose_device(DeviceKind kind);

uint64_t planned_runtime_bytes(c10::Device device);
// The runtime's part of the limit: what was planned for it, or what it takes already where that is
// more.
memory::Lease lease_runtime(memory::Ledger& ledger, c10::Device device);

}  // namespace plimsoll::train
