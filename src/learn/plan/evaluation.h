// What evaluating with all neighbours (--eval full) takes while it runs, beside the lines and the
// model: batches of whole lists, and the values of one layer for the next. A plan makes room for
// the least of it only, since lines go down for more and rows go to a file; but a run with room to
// spare will use that.
#pragma once

#include <cstdint>

#include "plan/arrangement.h"
#include "plan/footprint.h"

namespace plimsoll::plan {

// Nothing for the other evaluation.
uint64_t full_evaluation_bytes(const Work& work, const Arrangement& arrangement);
// What it cannot do without: one node at a time, and all rows in a file. First of that what making
// and computing such a batch takes.
uint64_t least_full_batch_bytes(const Work& work, const Arrangement& arrangement, bool reads_disk);
uint64_t least_full_evaluation_bytes(const Work& work, const Arrangement& arrangement,
                                     bool reads_disk);

}  // namespace plimsoll::plan
