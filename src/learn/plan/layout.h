// Which arrangement a limit is spent on: how many batches under way, how long the lines.
#pragma once

#include <cstdint>

#include "plan/arrange.h"
#include "plan/question.h"

namespace plimsoll::plan {

struct Layout {
  Arrangement arrangement;
  Taken taken;
};

// The arrangement that needs least, without lines.
Layout least_layout(const Question& question, bool reads_disk);
// What it needs with everything resident.
uint64_t resident_bytes(const Question& question, const Layout& layout);

// The arrangement with the fewest expected seconds; of those that are as fast, the one that leaves
// most to the lines. Everything is resident if that fits at all. With more memory no line is lower.
// The least layout must fit into `usable_bytes`, or all that is resident.
Layout choose_layout(const Question& question, uint64_t usable_bytes);

}  // namespace plimsoll::plan
