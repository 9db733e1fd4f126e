// Predicts how long batches and epochs take, from the measured rates of the machine: what the disk
// does, with and without windows of batches (batch/window.h), and how making, reading and computing
// overlap.
#pragma once

#include <cstdint>

#include "io/bulk_reader.h"
#include "plan/arrangement.h"
#include "plan/gpu_layout.h"
#include "plan/lines.h"
#include "plan/machine.h"
#include "plan/question.h"

namespace plimsoll::plan {

// ---- the disk and the size of windows (windows.cc) ----

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

struct WindowRoom {
  uint64_t bytes = 0;  // that windows may take
  // Of an epoch. One reads each row once an epoch, but nothing is trained until it is read, unless
  // it was read while the pass before was computed. With two, one is read while batches of the
  // other are trained.
  uint64_t least_windows = 1;
};
// The arrangement with the largest windows that fit, or with the question's; with window 1 if not
// even two batches fit.
Arrangement with_windows(const Question& question, const Arrangement& arrangement,
                         const WindowRoom& room);

// ---- batches and epochs (timing.cc) ----

// Seconds per epoch of training, without evaluation; 0 if the machine has not been measured.
double predict_time(const Question& question, const Arrangement& arrangement, const Reads& reads);

// The same if the GPU makes the batches (gpu_timing.cc).
double predict_gpu_time(const Question& question, const GpuLayout& layout);

// The batches of an epoch's first window: all if making batches takes longer than computing them,
// so that the trainer waits anyway; a few if it does not.
unsigned first_window(const Question& question, const Arrangement& arrangement, const Reads& reads);

// What the disk does for a batch.
DiskWork disk_work(const Question& question, const Arrangement& arrangement, const Reads& reads);
// Seconds of one training step on its device, when the batch is ready.
double step_seconds(const Question& question, unsigned computing);
// Seconds that one thread takes to sample a batch and to fill it with its rows, without reading.
double drawing_seconds(const Question& question);
double filling_seconds(const Question& question);

}  // namespace plimsoll::plan
