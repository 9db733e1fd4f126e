// The arrangement of a run in memory: the positions of the lines, and how many batches are in
// flight. It does not change what is learned.
#pragma once

#include <bit>
#include <cstdint>

#include "batch/window.h"
#include "io/bulk_reader.h"

namespace plimsoll::plan {

// A line divides a file: the bytes before it are resident (in memory), the rest is read from disk
// when it is needed. These are the lines of the three files, in bytes; a value beyond the end means
// the whole file.
struct Lines {
  uint64_t offsets_bytes = UINT64_MAX;
  uint64_t neighbors_bytes = UINT64_MAX;
  uint64_t features_bytes = UINT64_MAX;

  bool operator==(const Lines&) const = default;
};

// How many batches are copied to a GPU while it computes an earlier one.
constexpr unsigned kCopiedAhead = 2;

// Torch's allocator for pinned memory, from which a GPU copies, rounds up to powers of two.
constexpr uint64_t pinned_bytes(uint64_t bytes) { return std::bit_ceil(bytes); }
constexpr uint64_t kMostPinnedRounding = 2;

struct Arrangement {
  Lines lines;
  unsigned workers = 1;    // threads that make batches
  unsigned computing = 1;  // threads that compute; with a GPU, the one that feeds it
  unsigned ahead = 1;      // finished batches that may wait
  unsigned held = 1;       // batches with the trainer: being computed, or copied to a GPU
  uint64_t area_bytes = uint64_t{4} << 20;  // per worker, for rows that no window has read
  unsigned window = 1;        // batches that are read together (batch/window.h); 1 = no windows
  unsigned first_window = 1;  // batches of an epoch's first window; they grow from there
  uint64_t window_bytes = 0;  // for the rows of one window
  unsigned drawing = 1;       // threads that sample the batches of a window
  io::ReadPrice price;        // of the disk

  // How many batches exist at the same time, besides those in windows.
  unsigned slots() const { return workers + ahead + held; }
  batch::WindowOptions windows() const {
    return {.batches = window,
            .first_batches = first_window,
            .bytes = window_bytes,
            .threads = drawing,
            .price = price};
  }
  bool operator==(const Arrangement&) const = default;
};

}  // namespace plimsoll::plan
