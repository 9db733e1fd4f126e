// The device that computes, and how to recognise that memory is short.
#pragma once

#include <c10/core/Device.h>

#include <exception>
#include <string>

#include "memory/ledger.h"
#include "train/job.h"

namespace plimsoll::train {

// The device for what the user asked for; of several GPUs the one with the rank's number on this
// host. Throws Error{usage} for cuda if there is no GPU.
c10::Device choose_device(DeviceKind kind, unsigned local_rank = 0);

// Leases the memory of the program and its libraries: as planned, or more if the process already
// takes more.
memory::Lease lease_runtime(memory::Ledger& ledger, uint64_t planned_bytes);

// Whether the exception means that memory is short, on the device or in the ledger. The batch can
// then be computed in smaller parts.
bool is_shortage(const std::exception_ptr& error);

}  // namespace plimsoll::train
