// Gives memory back while a run goes on when its surroundings need it, and takes it again when they
// do not: another process, a lowered memory.high, stalls.
#pragma once

#include <atomic>
#include <cstdint>

#include "io/lined_file.h"
#include "memory/ledger.h"
#include "memory/pressure.h"

namespace plimsoll::train {

class RoomKeeper {
 public:
  // Both must outlive it. `rows` is what may rise again. `needed_bytes` is what the run cannot do
  // without: lines go down for others, but the ledger keeps that much, however little of it happens
  // to be lent when memory is short.
  RoomKeeper(memory::Ledger& ledger, io::LinedFile& rows, uint64_t needed_bytes);

  // What the watch calls: negative where bytes must be given back, positive where some may be
  // taken.
  void adjust(int64_t room_bytes);
  // Throws what ended the watch, if something did.
  void rethrow_failure() const { watch_.rethrow_failure(); }

  uint64_t given_back_bytes() const { return given_back_bytes_; }  // the most at one time

 private:
  memory::Ledger& ledger_;
  io::LinedFile& rows_;
  const uint64_t planned_limit_bytes_;
  const uint64_t planned_line_bytes_;
  const uint64_t needed_bytes_;
  uint64_t most_used_bytes_ = 0;  // when memory got tight
  std::atomic<uint64_t> given_back_bytes_ = 0;
  memory::PressureWatch watch_;  // last: it uses all of the above
};

}  // namespace plimsoll::train
