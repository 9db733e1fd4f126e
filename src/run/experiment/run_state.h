// How far a run is, from its journal: for those who look at it from outside.
#pragma once

#include <vector>

#include "experiment/batch.h"
#include "experiment/progress.h"
#include "experiment/run_folder.h"

namespace plimsoll::experiment {

struct RunState {
  BatchProgress progress;
  // Attempts that have started but not ended: they are running now, or their driver was killed.
  std::vector<RunningNow> begun;
};

RunState state_of_run(const KnownRun& run, const ExperimentBatch& batch);

}  // namespace plimsoll::experiment
