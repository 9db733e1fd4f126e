// Releases memory during a run when the rest of the machine needs it, and takes it again later.
// Reasons are another process, a lowered memory.high, or stalls.
#pragma once

#include <atomic>
#include <cstdint>

#include "io/lined_file.h"
#include "memory/ledger.h"
#include "memory/pressure.h"

namespace plimsoll::train {

class RoomKeeper {
 public:
  // Both references must outlive it. `rows` is the file whose line goes up again. The ledger keeps
  // at least `needed_bytes`, what the run needs without its lines, even if less is leased at the
  // moment when memory is short.
  RoomKeeper(memory::Ledger& ledger, io::LinedFile& rows, uint64_t needed_bytes);

  // Called by the watch: if negative, so many bytes must be released; if positive, so many may be
  // taken.
  void adjust(int64_t room_bytes);
  // Rethrows the exception that ended the watch, if any.
  void rethrow_failure() const { watch_.rethrow_failure(); }

  uint64_t given_back_bytes() const { return given_back_bytes_; }  // the maximum so far

 private:
  memory::Ledger& ledger_;
  io::LinedFile& rows_;
  const uint64_t planned_limit_bytes_;
  const uint64_t planned_line_bytes_;
  const uint64_t needed_bytes_;
  uint64_t most_used_bytes_ = 0;  // the most that was leased when memory got short
  std::atomic<uint64_t> given_back_bytes_ = 0;
  memory::PressureWatch watch_;  // declared last: it uses all of the above
};

}  // namespace plimsoll::train
