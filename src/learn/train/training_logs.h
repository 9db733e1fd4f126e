// A training's logs for other tools (track/step_log.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "track/step_log.h"
#include "train/job.h"
#include "train/results.h"

namespace plimsoll::train {

// Opens the logs that the job asks for, and those that a resumed run already has. `series` has the
// epochs so far. Null if there is no log. `note` prints a line for people.
std::unique_ptr<track::StepLog> open_logs(const TrainJob& job, const std::string& dataset,
                                          const std::vector<EpochResult>& series,
                                          const std::function<void(const std::string&)>& note);

// `resident_bytes`: the memory of this process now.
track::LogStep log_step(const EpochResult& result, uint64_t resident_bytes);

track::StepLog::Ending log_ending(const Results& results);

}  // namespace plimsoll::train
