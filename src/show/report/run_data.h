// What a run left behind, as values that a page shows. Everything that was not recorded is empty.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "answer/configuration.h"
#include "launch/training_record.h"
#include "report/run_list.h"

namespace plimsoll::report {

struct OneTraining {
  launch::TrainingRecord record;
  std::optional<launch::TrainingDiary> diary;  // nothing: an older version trained it
  bool running = false;                        // now
};

// "running", "finished", "interrupted".
std::string state_of(const OneTraining& one);

// One training; of `train --seeds`, all of its seeds.
struct TrainingData {
  FoundRun found;
  std::vector<OneTraining> trainings;  // at least one
};

struct AttemptData {
  size_t experiment = 0;  // an index into BatchData::queue
  size_t number = 1;
  bool ended = false;
  experiment::AttemptResult result;
};

struct BatchData {
  FoundRun found;
  std::vector<experiment::Experiment> queue;
  std::vector<std::optional<experiment::ExperimentResult>> results;  // one for each of `queue`
  std::vector<AttemptData> attempts;
  answer::Configurations configurations;
  std::string paused;  // the reason; empty if it is not paused
  std::string resume;  // the command that resumes it
};

// A log of a Slurm job: its last lines.
struct JobLogData {
  FoundRun found;
  uint64_t bytes = 0;
  std::string tail;
};

using RunData = std::variant<TrainingData, BatchData, JobLogData>;

// Throws Error{io} if there is no run at the path, Error{input} if its files are damaged.
RunData load_run(const std::filesystem::path& path);

const FoundRun& found_in(const RunData& data);

}  // namespace plimsoll::report
