// How large windows of batches (batch/window.h) are, and how long the disk takes for them.
#pragma once

#include <cstdint>

#include "io/bulk_reader.h"
#include "plan/arrangement.h"
#include "plan/machine.h"
#include "plan/question.h"

namespace plimsoll::plan {

io::ReadPrice read_price(const Machine& machine);

// What the disk does for one batch, on average.
struct DiskWork {
  double requests = 0;
  double bytes = 0;
  double rows = 0;  // that are read for it; each row counts once in a window

  double seconds(const io::ReadPrice& price) const {
    return requests * price.request_seconds + bytes * price.byte_seconds;
  }
};
// With the arrangement's lines, in windows of `batches` batches.
DiskWork window_work(const Question& question, const Arrangement& arrangement, double batches);

// The arrangement with the largest windows that take at most `bytes`, or with the question's; with
// window 1 if not even two batches fit.
Arrangement with_windows(const Question& question, const Arrangement& arrangement, uint64_t bytes);

}  // namespace plimsoll::plan
