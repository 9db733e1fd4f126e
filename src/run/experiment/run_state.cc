#include "experiment/run_state.h"

#include <algorithm>

#include "base/host.h"
#include "experiment/best.h"
#include "experiment/driver.h"
#include "experiment/expected_time.h"
#include "experiment/record.h"

namespace plimsoll::experiment {
namespace {

double seconds_since(double since_epoch) { return seconds_since_1970() - since_epoch; }

// The attempts that have started but not ended: they are running now, or their driver was killed.
std::vector<RunningNow> unfinished(const KnownRun& run, const ExpectedTimes& expected) {
  std::vector<RunningNow> all;
  for (const auto& attempt : run.attempts) {
    if (!attempt.result.empty()) continue;
    const auto& made = run.queue.at(static_cast<size_t>(attempt.experiment) - 1);
    const auto begun = attempt_of(attempt.plan);
    all.push_back({.experiment = made.folder,
                   .attempt = static_cast<size_t>(attempt.number),
                   .values = describe(begun.values),
                   .last_line = last_line(run.folder / made.folder / kTrainingLog),
                   .seconds = seconds_since(begun.started),
                   .expected_seconds = expected.of(made),
                   .expected_rest = expected.rest_of(made, seconds_since(begun.started))});
  }
  return all;
}

}  // namespace

RunState state_of_run(const KnownRun& run, const ExperimentBatch& batch) {
  ExpectedTimes expected(earlier_durations(run.folder.parent_path(), {}, run.folder));
  RunState state;
  BatchProgress& progress = state.progress;
  BestSoFar best(batch.catalog, batch.settings);
  std::vector<const Experiment*> waiting;
  for (size_t i = 0; i < run.entries.size(); ++i) {
    if (run.entries[i].result.empty()) {
      waiting.push_back(&run.queue[i]);
      if (!run.queue[i].warmup) ++progress.left;
      continue;
    }
    if (run.queue[i].warmup) continue;
    const auto result = result_of(run.entries[i].result);
    ++(result.success ? progress.succeeded : failed(result) ? progress.failed : progress.stopped);
    if (result.success) expected.add(run.queue[i], result.last.seconds);
    best.add(run.queue[i], result);
  }
  progress.best = best.describe();
  state.begun = unfinished(run, expected);
  std::vector<RunningNow> running;
  if (run.driven && !state.begun.empty()) {
    running = state.begun;
    progress.running = running.front();
    progress.beside.assign(running.begin() + 1, running.end());
  }
  for (const auto& now : running) {
    std::erase_if(waiting, [&](const auto* one) { return one->folder == now.experiment; });
  }
  progress.time_left = time_left(waiting, running, expected);
  progress.time_left.share_among(std::max<size_t>(1, running.size()));
  return state;
}

std::string describe_state(const KnownRun& run, const BatchProgress& progress) {
  if (run.driven) return progress.running ? "running" : "running, between two experiments";
  if (progress.left == 0) return "finished";
  return run.paused.empty() ? "not running" : describe_pause(run.paused);
}

std::vector<FailedExperiment> failures_of(const KnownRun& run) {
  std::vector<FailedExperiment> all;
  for (size_t i = 0; i < run.entries.size(); ++i) {
    if (run.entries[i].result.empty()) continue;
    const auto result = result_of(run.entries[i].result);
    if (!failed(result) || run.queue[i].warmup) continue;
    const auto log = run.folder / run.queue[i].folder / kTrainingLog;
    all.push_back({.experiment = run.queue[i].folder,
                   .headline = result.last.headline,
                   .log = describe_log(log, result.last.headline)});
  }
  return all;
}

}  // namespace plimsoll::experiment
