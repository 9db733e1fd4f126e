// Chooses how a run is arranged in memory: the lines of its three files, and how many batches are
// in flight, so that the predicted time is shortest within a limit.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/arrangement.h"
#include "plan/question.h"

namespace plimsoll::plan {

// The possible arrangements, without lines and complete otherwise; the first needs the least
// memory. If `reads_disk` is false, they have no buffers for reading.
std::vector<Arrangement> arrangements(const Question& question, bool reads_disk);

// The memory of an arrangement without its lines, of all ranks on a host together.
struct Taken {
  uint64_t batches_bytes = 0;
  uint64_t workers_bytes = 0;
  uint64_t windows_bytes = 0;
  uint64_t model_bytes = 0;  // including activations
  uint64_t runtime_bytes = 0;
  unsigned in_flight = 0;  // batches of one rank

  uint64_t all_bytes() const {
    return batches_bytes + workers_bytes + windows_bytes + model_bytes + runtime_bytes;
  }
};
Taken taken_bytes(const Question& question, const Arrangement& arrangement, bool reads_disk);

struct Layout {
  Arrangement arrangement;
  Taken taken;
};

// The arrangement that needs the least memory, without lines.
Layout least_layout(const Question& question, bool reads_disk);
// The memory that a layout needs if all files are resident.
uint64_t resident_bytes(const Question& question, const Layout& layout);

// The arrangement with the shortest predicted time; among equally fast ones, the one that leaves
// the most memory for the lines. All files are resident if that fits at all. Without windows, no
// line is lower with more memory. `usable_bytes` must be enough for the least layout, either
// without lines or with all files resident.
Layout choose_layout(const Question& question, uint64_t usable_bytes);

}  // namespace plimsoll::plan
