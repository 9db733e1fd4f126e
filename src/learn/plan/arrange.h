// The arrangements that a run may have, and what each takes beside the lines.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/arrangement.h"
#include "plan/question.h"

namespace plimsoll::plan {

// Without lines; the first one needs least. For the device that computes: nothing about them is
// left to be decided later. A run that reads nothing needs no buffers for it.
std::vector<Arrangement> arrangements(const Question& question, bool reads_disk);

struct Taken {
  uint64_t batches_bytes = 0;
  uint64_t workers_bytes = 0;
  uint64_t model_bytes = 0;  // activations included
  uint64_t runtime_bytes = 0;
  unsigned in_flight = 0;

  uint64_t all_bytes() const { return batches_bytes + workers_bytes + model_bytes + runtime_bytes; }
};
Taken taken_bytes(const Question& question, const Arrangement& arrangement, bool reads_disk);

// Which arrangement a limit is spent on: how many batches under way, how long the lines.

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
