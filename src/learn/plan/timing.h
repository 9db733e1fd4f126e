// Predicts how long batches and epochs take, from the measured rates of the machine.
#pragma once

#include "plan/lines.h"
#include "plan/question.h"

namespace plimsoll::plan {

// Seconds per epoch of training, without evaluation; 0 if the machine has not been measured.
double predict_time(const Question& question, const Arrangement& arrangement, const Reads& reads);

// Seconds of one training step on its device, when the batch is ready.
double step_seconds(const Question& question, unsigned computing);
// Seconds that one thread takes to make a batch, without waiting for the disk.
double making_seconds(const Question& question, const Reads& reads);

}  // namespace plimsoll::plan
