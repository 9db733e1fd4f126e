// Where torch's CPU tensors live: in leased memory, kept for the next tensor of about the same
// size. The heap would give a large tensor's pages back to the kernel at every batch, and take as
// long to get them again as the batch itself needs.
#pragma once

#include <cstdint>

#include "memory/ledger.h"

namespace plimsoll::train {

// While it lives, tensors of 64 KiB and more take leases ("tensors") of the ledger. One at a time.
class TensorMemory {
 public:
  explicit TensorMemory(memory::Ledger& ledger);
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;
  ~TensorMemory();  // tensors that still live keep their memory, without lease

 private:
  memory::Ledger::Reclaimer reclaimer_;  // of what is kept for the next tensor
};

}  // namespace plimsoll::train
