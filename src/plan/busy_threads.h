// Threads that keep cores and memory busy while something else is measured, as the other threads
// of a training do: a core that shares its caches, its memory or its physical core is slower.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "memory/buffer.h"
#include "memory/ledger.h"

namespace plimsoll::plan {

class BusyThreads {
 public:
  // Each adds up rows, at random, out of more than the caches hold where the ledger allows it.
  BusyThreads(unsigned count, memory::Ledger& ledger);
  // That they have computed so far.
  double cpu_seconds() const { return cpu_seconds_; }

 private:
  memory::Buffer<unsigned char> table_;
  std::atomic<double> cpu_seconds_ = 0;
  std::vector<std::jthread> threads_;  // last: they use the table
};

}  // namespace plimsoll::plan
