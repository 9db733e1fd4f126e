// What this process has moved to and from files, for those who must know whether it hangs.
#pragma once

#include <cstdint>

namespace plimsoll::io {

struct Transfers {
  uint64_t ended = 0;    // reads and writes that have ended; several may count as one
  unsigned syncing = 0;  // threads that wait until a disk has stored what was written
};
Transfers transfers_so_far();

void count_transfer();

// While it lives, the transfers of the calling thread are not counted: logs are written by the
// clock, also by a process whose work hangs.
class Uncounted {
 public:
  Uncounted();
  Uncounted(const Uncounted&) = delete;
  Uncounted& operator=(const Uncounted&) = delete;
  ~Uncounted();
};

// While it lives, the calling thread waits for a disk to store what was written: that may take long
// and moves nothing that could be counted.
class Syncing {
 public:
  Syncing();
  Syncing(const Syncing&) = delete;
  Syncing& operator=(const Syncing&) = delete;
  ~Syncing();

 private:
  const bool counted_;
};

}  // namespace plimsoll::io
