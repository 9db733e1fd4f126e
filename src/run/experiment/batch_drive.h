// Drives a batch on this machine: claims its GPUs or Slurm steps, opens the energy recorders, and
// runs the driver over the queue.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "experiment/batch.h"
#include "experiment/driver.h"
#include "experiment/progress.h"
#include "experiment/run_folder.h"
#include "experiment/slurm_steps.h"

namespace plimsoll::experiment {

struct DriveOptions {
  bool keep_going = false;
  double gpu_wait_seconds = 600;
  double idle_baseline_seconds = 0;             // measure the idle power first; 0: do not
  std::function<void(const std::string&)> say;  // prints a line for the user
  // An experiment has finished; may be empty.
  std::function<void(const Experiment&, const ExperimentResult&)> finished;
  // Shows the progress again and again; may be empty.
  std::function<void(const BatchProgress&, const MachineNow&)> show;
};

// What a batch has for itself.
struct BatchClaim {
  GpuClaim gpus;
  JobOptions jobs;
  std::optional<SlurmSteps> steps;
};

// In a Slurm allocation, several experiments at once are steps of the job, and Slurm hands out the
// GPUs; otherwise the GPUs are locked for this batch. Throws Error{exists} if another run has them,
// Error{usage} if they are too few or the batch cannot run as steps.
BatchClaim claim_for(const ExperimentBatch& batch, const JobOptions& jobs, const std::string& gpus,
                     bool use_steps, const Waiting& waiting);

// Creates the journal of a new run with the batch's queue.
Journal create_journal(const std::filesystem::path& folder, const BatchTexts& texts,
                       const ExperimentBatch& batch);

DriverEnd drive(const std::filesystem::path& folder, const BatchClaim& claim,
                const BatchTexts& texts, const ExperimentBatch& batch, Journal& journal,
                const DriveOptions& options);

// For a run of which all experiments have finished: only repairs its files, and does not wait for a
// GPU.
DriverEnd repair_files(const std::filesystem::path& folder, const BatchTexts& texts,
                       const ExperimentBatch& batch, Journal& journal,
                       const std::function<void(const std::string&)>& say);

}  // namespace plimsoll::experiment
