// Predicts with a trained model and writes the results as a NumPy file.
#pragma once

#include "train/job.h"

namespace plimsoll::train {

void predict(const PredictJob& job);

}  // namespace plimsoll::train
