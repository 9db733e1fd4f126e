// Where and on how many threads torch computes.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include "memory/ledger.h"
#include "train/job.h"

namespace plimsoll::train {

// What the user's wish comes to; throws Error{usage} for cuda where there is none.
c10::Device choose_device(DeviceKind kind);

// The runtime's part of the limit.
memory::Lease lease_runtime(memory::Ledger& ledger, c10::Device device);

// For torch and for the BLAS below it, which keeps a count of its own.
void set_computing_threads(unsigned threads);

}  // namespace plimsoll::train
