// How a run is laid out in memory: where the lines stand, and how many batches are under way. None
// of it changes what is learned.
#pragma once

#include <cstdint>

namespace plimsoll::plan {

// Bytes of each file that are resident; beyond a file's end means all of it.
struct Lines {
  uint64_t offsets_bytes = UINT64_MAX;
  uint64_t neighbors_bytes = UINT64_MAX;
  uint64_t features_bytes = UINT64_MAX;

  bool operator==(const Lines&) const = default;
};

// Batches that are copied to a GPU while it computes the one before.
constexpr unsigned kCopiedAhead = 2;

struct Arrangement {
  Lines lines;
  unsigned workers = 1;    // threads that make batches
  unsigned computing = 1;  // threads that compute; one feeds a GPU
  unsigned window = 1;     // batches that a worker makes at once
  unsigned ahead = 1;      // batches that may wait beside those being made and computed
  unsigned held = 1;       // batches with the trainer: being computed, or copied to a GPU
  uint64_t area_bytes = uint64_t{4} << 20;  // for rows from disk, of each worker

  // Batches that exist at once.
  unsigned slots() const { return workers * window + ahead + held; }
  bool operator==(const Arrangement&) const = default;
};

}  // namespace plimsoll::plan
