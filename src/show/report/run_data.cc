#include "report/run_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "answer/merged_runs.h"
#include "base/error.h"
#include "base/run_files.h"
#include "experiment/batch.h"
#include "experiment/json_reader.h"
#include "experiment/run_folder.h"

namespace plimsoll::report {
namespace {

namespace fs = std::filesystem;
using recipe::TrainingStatus;

constexpr uint64_t kTailBytes = 16384;

// A running or interrupted training is as its diary says; a finished one as its results say.
OneTraining read_one(const fs::path& folder) {
  OneTraining one;
  one.diary = launch::read_diary(folder);
  one.running = launch::is_training_now(folder);
  std::error_code ignored;
  const bool results = fs::exists(folder / kResultsFile, ignored);
  const bool newer_diary = one.diary && one.diary->status == TrainingStatus::running;
  if (results && !(one.running && newer_diary)) {
    one.record = launch::read_training(folder);
  } else if (one.diary) {
    one.record = one.diary->so_far;
    if (!one.running) one.record.status = TrainingStatus::interrupted;
  } else {
    fail(ErrorKind::io,
         "{} has no results.json and no diary.json: its training has just begun, or "
         "it was interrupted and is of an older version; continue it with train --resume",
         folder.string());
  }
  return one;
}

TrainingData load_training(FoundRun found) {
  TrainingData data{.found = std::move(found), .trainings = {}};
  const fs::path& folder = data.found.path;
  std::error_code ignored;
  const bool diary = fs::exists(folder / kDiaryFile, ignored);
  std::vector<fs::path> folders =
      diary ? std::vector<fs::path>{folder} : launch::training_folders(folder);
  for (const fs::path& one : folders) data.trainings.push_back(read_one(one));
  if (data.trainings.empty()) fail(ErrorKind::io, "{} has no training", folder.string());
  return data;
}

BatchData load_batch(FoundRun found) {
  experiment::KnownRun known = experiment::read_run(found.path);
  experiment::Problems ignored(experiment::KeyPolicy::lenient);
  const experiment::ExperimentBatch batch =
      experiment::read_batch(experiment::parse_texts(known.settings), ignored);
  BatchData data{.found = std::move(found),
                 .queue = std::move(known.queue),
                 .results = {},
                 .attempts = {},
                 .configurations = {},
                 .paused = known.paused,
                 .resume = experiment::resume_command(known.folder)};
  std::vector<answer::Outcome> outcomes;
  std::map<int64_t, size_t> place;  // by the number in the journal
  size_t unfinished = 0;
  for (size_t i = 0; i < known.entries.size(); ++i) {
    place[known.entries[i].number] = i;
    data.results.emplace_back();
    if (!known.entries[i].result.empty()) {
      data.results.back() = experiment::result_of(known.entries[i].result);
    }
    if (data.queue[i].warmup) continue;
    if (data.results.back()) {
      outcomes.push_back({data.queue[i], *data.results.back()});
    } else {
      ++unfinished;
    }
  }
  for (const auto& attempt : known.attempts) {
    const auto at = place.find(attempt.experiment);
    if (at == place.end()) continue;
    const bool ended = !attempt.result.empty();
    data.attempts.push_back(
        {.experiment = at->second,
         .number = static_cast<size_t>(attempt.number),
         .ended = ended,
         .result = experiment::attempt_of(ended ? attempt.result : attempt.plan)});
  }
  data.configurations = answer::group(outcomes, batch.catalog, {});
  data.configurations.unfinished = unfinished;
  data.configurations.objective = answer::stated_objective(batch);
  return data;
}

JobLogData load_log(FoundRun found) {
  JobLogData data{.found = std::move(found)};
  std::error_code failed_size;
  const auto size = fs::file_size(data.found.path, failed_size);
  if (failed_size) {
    fail(ErrorKind::io, "cannot read {}: {}", data.found.path.string(), failed_size.message());
  }
  data.bytes = size;
  std::ifstream stream(data.found.path, std::ios::binary);
  const uint64_t skipped = data.bytes > kTailBytes ? data.bytes - kTailBytes : 0;
  stream.seekg(static_cast<std::streamoff>(skipped));
  data.tail.resize(static_cast<size_t>(data.bytes - skipped));
  stream.read(data.tail.data(), static_cast<std::streamsize>(data.tail.size()));
  data.tail.resize(static_cast<size_t>(std::max<std::streamsize>(0, stream.gcount())));
  if (skipped > 0) data.tail.erase(0, data.tail.find('\n') + 1);
  return data;
}

}  // namespace

std::string state_of(const OneTraining& one) {
  return std::string(name(one.running ? TrainingStatus::running : one.record.status));
}

RunData load_run(const fs::path& path) {
  auto found = look_at(path);
  if (!found) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
      fail(ErrorKind::io,
           "{} does not exist; give the --save-dir of a training or the folder of a batch",
           path.string());
    }
    fail(ErrorKind::io,
         "{} is not a run: it has neither results.json (a training) nor journal.sqlite (a batch), "
         "and it is not the log of a Slurm job",
         path.string());
  }
  switch (found->kind) {
    case RunKind::training:
      return load_training(std::move(*found));
    case RunKind::batch:
      return load_batch(std::move(*found));
    case RunKind::job_log:
      break;
  }
  return load_log(std::move(*found));
}

const FoundRun& found_in(const RunData& data) {
  return std::visit([](const auto& one) -> const FoundRun& { return one.found; }, data);
}

}  // namespace plimsoll::report
