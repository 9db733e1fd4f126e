// The progress of a batch: `plimsoll run` shows it while it works, `plimsoll status` shows it from
// another terminal.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiment/batch.h"
#include "experiment/expected_time.h"
#include "experiment/machine.h"
#include "experiment/run_folder.h"

namespace plimsoll::experiment {

struct RunningNow {
  std::string experiment;  // its folder
  size_t attempt = 1;
  std::string values;
  std::string last_line;  // of its log
  double seconds = 0;
  std::optional<double> expected_seconds;
  // The rest, from experiments that took longer than this one has so far; nothing if none did.
  std::optional<double> expected_rest;
};

struct BatchProgress {
  std::optional<RunningNow> running;  // of several, the one that began first
  std::vector<RunningNow> beside;     // the others
  size_t succeeded = 0;
  size_t failed = 0;
  size_t left = 0;  // including the running one
  TimeLeft time_left;
  std::string best;    // the best configuration so far; empty before the first success
  size_t stopped = 0;  // early, by the batch
};

// The live display: a few lines, always the same number while something runs.
std::vector<std::string> lines_of(const BatchProgress& progress, const MachineNow& machine);

// "12 succeeded, 1 failed, 7 left; time left: about 5 min 20 s"
std::string describe_counts(const BatchProgress& progress);

// The expected time for the waiting experiments and the rest of the running ones, one after the
// other.
TimeLeft time_left(const std::vector<const Experiment*>& waiting,
                   const std::vector<RunningNow>& running, const ExpectedTimes& expected);

// The last non-empty line, without control sequences for cursor and colours; for a progress bar,
// its last state.
std::string last_line(const std::filesystem::path& log);
std::string last_line_of(std::string_view text);

// Two indented lines for a failed experiment, with a newline before each: the last line of its log
// and the path of the log. The line is left out if `headline` contains it. Empty if there is no
// log.
std::string describe_log(const std::filesystem::path& log, std::string_view headline = "");

// How far a run is, from its journal: for those who look at it from outside.
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
