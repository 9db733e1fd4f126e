// Predicts how long batches and epochs take, from the measured rates of the machine.
#pragma once

#include "plan/lines.h"
#include "plan/question.h"
#include "plan/windows.h"

namespace plimsoll::plan {

// Seconds per epoch of training, without evaluation; 0 if the machine has not been measured.
double predict_time(const Question& question, const Arrangement& arrangement, const Reads& reads);

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
