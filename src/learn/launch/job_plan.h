// The plan of a training that will run as a job elsewhere: how much memory and time to ask for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/training_device.h"
#include "launch/training_run.h"
#include "plan/plan.h"

namespace plimsoll::launch {

// What the supervisor of a job needs in addition to the training.
constexpr uint64_t kSupervisorBytes = uint64_t{64} << 20;

struct JobPlan {
  plan::Plan plan;
  uint64_t limit_bytes = 0;  // of the training
  uint64_t job_bytes = 0;    // of the job: the training and its supervisor
  uint64_t checkpoint_bytes = 0;
  double seconds = 0;          // expected, without a margin; 0 = unknown
  bool gpu_elsewhere = false;  // planned here for a CPU, as there is no GPU
};

struct JobRequest {
  std::optional<uint64_t> memory_bytes;  // of the job, if the user gave it
  unsigned gpus = 0;
};

// Under --memory, or with all memory that helps. Throws Error{memory} if it does not fit.
JobPlan plan_job(const TrainRequest& training, const JobRequest& job, const GpuFacts& gpus);

// The time to ask for, with a margin, if the job trains this many seeds one after the other.
double job_seconds(const JobPlan& job, uint64_t seeds);
// The most memory to ask for after the job ran out of it.
uint64_t most_job_bytes(const JobPlan& job);

// Comments for the script: where its figures come from.
struct NoteFacts {
  uint64_t seeds = 1;
  bool own_time = true;  // the time is job_seconds(), not --time
};
std::vector<std::string> notes_on(const JobPlan& job, const TrainRequest& training,
                                  const NoteFacts& facts);

}  // namespace plimsoll::launch
