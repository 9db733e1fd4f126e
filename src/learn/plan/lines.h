// Where the lines across a store's three files should stand, and what is read when they do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/arrangement.h"
#include "plan/footprint.h"

namespace plimsoll::plan {

// All that this recipe ever reads: mlp has no use for lists.
Lines all_resident(const Work& work);
uint64_t line_bytes(const Lines& lines);

// The lines that save the most reads, for any room: files are hot first, so each line grows from
// the top of its file, and memory goes to the stretch with the most visits a byte.
class LineChoice {
 public:
  explicit LineChoice(const Work& work);

  // At multiples of io::kLineStepBytes or at a file's end; never more than the room, and no line
  // lower than in a smaller room.
  Lines within(uint64_t room_bytes) const;

 private:
  struct Stretch {
    size_t file = 0;
    uint64_t bytes = 0;
  };
  Lines all_;
  std::vector<Stretch> stretches_;  // of all files, in the order in which they are worth having
};

// What a batch reads, and the shares of visits that find what they need in memory.
struct Reads {
  double offsets_hits = 1;
  double lists_hits = 1;
  double rows_hits = 1;
  double adjacency_hits = 1;  // of offsets and lists together
  double lists = 0;           // reads of a batch, for where a list begins or for the list
  double rows = 0;

  double all() const { return lists + rows; }
};
Reads predict_reads(const Work& work, const Lines& lines);

}  // namespace plimsoll::plan
