// Keeps a run's memory within what the rest of the machine leaves: moves the lines of its files.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/parallel.h"
#include "io/lined_file.h"
#include "memory/ledger.h"
#include "memory/pressure.h"
#include "train/shared_line.h"

namespace plimsoll::train {

// Releases memory during a run when the rest of the machine needs it, and takes it again later.
// Reasons are another process, a lowered memory.high, or stalls. If ranks of a host share the
// lines, the keeper of the first one decides for all of them.
class RoomKeeper {
 public:
  // The references must outlive it. `rows` is the file whose line goes up again, and `shared` its
  // line, if it is shared. The ledger keeps at least `needed_bytes`, what the run needs without its
  // lines, even if less is leased at the moment when memory is short.
  RoomKeeper(memory::Ledger& ledger, io::LinedFile& rows, uint64_t needed_bytes,
             SharedLine* shared = nullptr);

  // Called by the watch. A negative number of bytes must be released; a positive one may be taken.
  void adjust(int64_t room_bytes);
  // Rethrows the exception that ended the watch, if any.
  void rethrow_failure() const;

  uint64_t given_back_bytes() const { return given_back_bytes_; }  // the maximum so far

 private:
  void adjust_shared(int64_t room_bytes);
  void follow();

  memory::Ledger& ledger_;
  io::LinedFile& rows_;
  SharedLine* const shared_;
  const uint64_t planned_limit_bytes_;
  const uint64_t planned_line_bytes_;
  const uint64_t needed_bytes_;
  uint64_t most_used_bytes_ = 0;  // the most that was leased when memory got short
  std::atomic<uint64_t> given_back_bytes_ = 0;
  // One of them. Declared last: they use all of the above.
  std::optional<memory::PressureWatch> watch_;
  std::optional<Ticker> follower_;
};

}  // namespace plimsoll::train
