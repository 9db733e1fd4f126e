// The device that computes: the choice, its speed, the memory of its tensors, and how to recognise
// that memory is short.
#pragma once

#include <c10/core/Device.h>

#include <exception>
#include <optional>
#include <string>

#include "base/error.h"
#include "gpu/rates.h"
#include "memory/ledger.h"
#include "plan/machine.h"
#include "train/job.h"

namespace plimsoll::train {

// The device for what the user asked for; of several GPUs the one with the rank's number on this
// host. Throws Error{usage} for cuda if there is no GPU.
c10::Device choose_device(DeviceKind kind, unsigned local_rank = 0);

// Measures the cost of training steps on a device with the real layers, for plans. Takes about a
// second and up to 160 MiB of tensors. On a CPU it leaves the number of computing threads set to
// `threads`. (measure.cc)
plan::StepRates measure_steps(c10::Device device, unsigned threads);

// Measures what a GPU does that makes its batches itself; nothing if the CPU is in its place.
// (measure.cc)
gpu::GpuRates measure_gpu(c10::Device device, memory::Ledger& ledger);

// Leases the memory of the program and its libraries: as planned, or more if the process already
// takes more.
memory::Lease lease_runtime(memory::Ledger& ledger, uint64_t planned_bytes);

// Turns an exception into an Error: torch's messages have a backtrace and no advice. A full GPU and
// a system that gives no memory are Error{memory}. Empty for all other exceptions.
std::optional<Error> as_error(const std::exception_ptr& exception);

// Whether the exception means that memory is short: on the device, in the ledger or in the system.
// The batch can then be computed in smaller parts.
bool is_shortage(const std::exception_ptr& exception);

// An allocator for torch's CPU tensors. It uses leased memory and keeps it for the next tensor of
// about the same size. The heap would return a large tensor's pages to the kernel at every batch;
// getting them again takes as long as computing the batch.
//
// While it lives, tensors of 64 KiB and more take leases ("tensors") from the ledger. There must be
// only one at a time.
class TensorMemory {
 public:
  explicit TensorMemory(memory::Ledger& ledger);
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;
  ~TensorMemory();  // tensors that still live keep their memory, but without a lease

 private:
  memory::Ledger::Reclaimer reclaimer_;  // releases the memory that is kept for later tensors
};

}  // namespace plimsoll::train
