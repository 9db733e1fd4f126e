// How far a run is, from its journal: for those who look at it from outside.
#pragma once

#include <string>
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

// "running", "finished", or why it is not running.
std::string describe_state(const KnownRun& run, const BatchProgress& progress);

struct FailedExperiment {
  std::string experiment;  // its folder
  std::string headline;
  std::string log;  // as describe_log() has it
};
// Without those that only warm up the machine.
std::vector<FailedExperiment> failures_of(const KnownRun& run);

}  // namespace plimsoll::experiment
