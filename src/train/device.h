// Where torch computes.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include "memory/ledger.h"
#include "train/job.h"

namespace plimsoll::train {

// What the user's wish comes to; throws Error{usage} for cuda where there is none.
c10::Device choose_device(DeviceKind kind);

// What the process will take beside what is lent by name: what is usual, or more where it takes that
// much now, with libtorch loaded. Every libtorch is of another size.
uint64_t runtime_bytes(bool gpu);
// As much as was planned, or more where it takes that much already.
memory::Lease lease_runtime(memory::Ledger& ledger, uint64_t planned_bytes);

}  // namespace plimsoll::train
