// How long a batch takes, predicted from what the machine was measured to do.
#pragma once

#include "plan/lines.h"
#include "plan/question.h"

namespace plimsoll::plan {

// Seconds of an epoch; 0 where the machine's rates are not known. With a GPU, of making its
// batches.
double predict_time(const Question& question, const Arrangement& arrangement, const Reads& reads);

}  // namespace plimsoll::plan
