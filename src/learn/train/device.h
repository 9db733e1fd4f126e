// The device that computes, and how to recognise that memory is short.
#pragma once

#include <c10/core/Device.h>

#include <exception>
#include <optional>
#include <string>

#include "base/error.h"
#include "memory/ledger.h"
#include "train/job.h"

namespace plimsoll::train {

// The device for what the user asked for; of several GPUs the one with the rank's number on this
// host. Throws Error{usage} for cuda if there is no GPU.
c10::Device choose_device(DeviceKind kind, unsigned local_rank = 0);

// Leases the memory of the program and its libraries: as planned, or more if the process already
// takes more.
memory::Lease lease_runtime(memory::Ledger& ledger, uint64_t planned_bytes);

// The exception as an Error: torch's own contain a backtrace and no advice. A full GPU and a system
// that gives no memory are Error{memory}. Empty for what is neither ours, torch's nor a shortage.
std::optional<Error> as_error(const std::exception_ptr& exception);

// Whether the exception means that memory is short: on the device, in the ledger or in the system.
// The batch can then be computed in smaller parts.
bool is_shortage(const std::exception_ptr& exception);

}  // namespace plimsoll::train
