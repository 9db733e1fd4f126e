// The device that computes, and how it says that it has no memory left.
#pragma once

#include <c10/core/Device.h>

#include <exception>
#include <string>

#include "memory/ledger.h"
#include "train/job.h"

namespace plimsoll::train {

// Where torch computes.

// What the user's wish comes to; throws Error{usage} for cuda where there is none.
c10::Device choose_device(DeviceKind kind);

// As much as was planned, or more where it takes that much already.
memory::Lease lease_runtime(memory::Ledger& ledger, uint64_t planned_bytes);

// Whether an exception says that memory is short, the device's or the ledger's: what can be
// computed in smaller parts instead.

bool is_shortage(const std::exception_ptr& error);

}  // namespace plimsoll::train
