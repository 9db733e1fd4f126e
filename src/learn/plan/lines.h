// Where the lines of the three files go, and what is then read from disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/arrangement.h"
#include "plan/footprint.h"

namespace plimsoll::plan {

// The lines if everything that this recipe reads is resident. (mlp does not read the lists.)
Lines all_resident(const Work& work);
uint64_t line_bytes(const Lines& lines);

// The lines that save the most reads, for any amount of memory. Files are in hot-first order, so
// each line starts at the beginning of its file; memory goes to the stretch with the most visits
// per byte.
class LineChoice {
 public:
  explicit LineChoice(const Work& work);

  // Lines are multiples of io::kLineStepBytes or at the end of a file. Together they take at most
  // `room_bytes`, and no line is lower than for a smaller `room_bytes`.
  Lines within(uint64_t room_bytes) const;

 private:
  struct Stretch {
    size_t file = 0;
    uint64_t bytes = 0;
  };
  Lines all_;
  std::vector<Stretch> stretches_;  // of all files, the most visits per byte first
};

// What a batch reads from disk. The hits are the shares of visits that find their data in memory.
struct Reads {
  double offsets_hits = 1;
  double lists_hits = 1;
  double rows_hits = 1;
  double adjacency_hits = 1;  // of offsets and lists together
  double lists = 0;           // reads per batch of list bounds and of lists
  double rows = 0;            // reads per batch of rows

  double all() const { return lists + rows; }
};
Reads predict_reads(const Work& work, const Lines& lines);

}  // namespace plimsoll::plan
