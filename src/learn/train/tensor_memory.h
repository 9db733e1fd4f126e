// The memory that torch takes: its CPU tensors, and the libraries with the program as a whole.
#pragma once

#include <cstdint>

#include "memory/ledger.h"

namespace plimsoll::train {

// Leases the memory of the program and its libraries: as planned, or more if the process already
// takes more.
memory::Lease lease_runtime(memory::Ledger& ledger, uint64_t planned_bytes);

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
