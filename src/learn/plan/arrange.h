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

}  // namespace plimsoll::plan
