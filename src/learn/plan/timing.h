// How long a batch takes, predicted from what the machine was measured to do.
#pragma once

#include "plan/lines.h"
#include "plan/question.h"

namespace plimsoll::plan {

// Seconds of the batches of an epoch; 0 where the machine's rates are not known.
double predict_time(const Question& question, const Arrangement& arrangement, const Reads& reads);

// Seconds of one step on the device that trains, the batch being there.
double step_seconds(const Question& question, unsigned computing);
// Seconds of one thread that makes a batch, without what it waits for the disk.
double making_seconds(const Question& question, const Reads& reads);

}  // namespace plimsoll::plan
