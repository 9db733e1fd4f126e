// The steps of `plimsoll run`: reads the files that the user names, plans the batch, claims GPUs or
// Slurm steps on this machine, and runs the driver over the queue.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "experiment/batch.h"
#include "experiment/driver.h"
#include "experiment/journal.h"
#include "experiment/progress.h"
#include "experiment/run_folder.h"
#include "slurm/job.h"
#include "track/step_log.h"

namespace plimsoll::experiment {

// What a user asks for.
struct BatchRequest {
  std::string settings;  // empty: one training, in `words`
  std::string catalog;   // the model config; empty: looked for
  CommandLine words;
  std::optional<uint64_t> seed;  // nothing: a new one
  std::optional<unsigned> max_retries;
  std::string governor;
  std::string results;  // empty: as the settings say
  std::string gpus;
  KeyPolicy keys = KeyPolicy::usual;
  AtOnceOptions jobs;
  track::LogKinds logs;  // for other tools; empty: none, or those that a resumed run has
};

using SayLine = std::function<void(const std::string&)>;

// Reads the files. Throws Error{usage} if there is no model config, Error{io} if a file cannot be
// read.
BatchTexts read_texts(const BatchRequest& request);

// The model config that the request means, for --list.
Catalog read_named_catalog(const BatchRequest& request, Problems& problems);

// Runs `plimsoll run` with these words and --dry-run, for those who start the batch later. Throws
// Error{usage} with what it says if it refuses them.
void check_run_words(const std::vector<std::string>& words);

// Says all problems, grouped.
void report(const Problems& problems, const SayLine& say);

// Plans the batch. Says all problems together; throws Error{input} if one is an error.
ExperimentBatch planned_batch(const BatchTexts& texts, const SayLine& say);

// The batch of a journal, with its queue as it was drawn. Throws Error{input} if this version
// cannot use its files. `folder` is for messages.
ExperimentBatch journaled_batch(const BatchTexts& texts, const Journal& journal,
                                const std::filesystem::path& folder, const SayLine& say);

// The folder for the folders of runs.
std::filesystem::path results_folder(const BatchRequest& request, const ExperimentBatch& batch);

// For --resume auto: the newest run with these files and words.
std::optional<std::filesystem::path> run_to_continue(const BatchRequest& request);

// `earlier`, with the values that `wanted` has.
AtOnceOptions changed_jobs(AtOnceOptions earlier, const AtOnceOptions& wanted);

// How the batch runs. Does not change what its experiments are.
struct BatchRunOptions {
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
  AtOnceOptions jobs;
  std::optional<slurm::SlurmSteps> steps;
  std::string memory;  // what each of several experiments may use, for the user; else empty
};

// In a Slurm allocation, several experiments at once are steps of the job, and Slurm hands out the
// GPUs and the memory; otherwise the GPUs are locked for this batch, and the experiments share what
// the machine allows, unless `jobs` has another limit. Throws Error{exists} if another run has the
// GPUs, Error{usage} if they are too few, if an entry asks for more memory than all may have, or if
// the batch cannot run as steps.
BatchClaim claim_for(const ExperimentBatch& batch, const AtOnceOptions& jobs,
                     const std::string& gpus, bool use_steps, const Waiting& waiting);

// Creates the journal of a new run with the batch's queue.
Journal create_journal(const std::filesystem::path& folder, const BatchTexts& texts,
                       const ExperimentBatch& batch);

DriverEnd drive(const std::filesystem::path& folder, const BatchClaim& claim,
                const BatchTexts& texts, const ExperimentBatch& batch, Journal& journal,
                const BatchRunOptions& options);

// For a run of which all experiments have finished: only repairs its files, and does not wait for a
// GPU.
DriverEnd repair_files(const std::filesystem::path& folder, const BatchTexts& texts,
                       const ExperimentBatch& batch, Journal& journal,
                       const std::function<void(const std::string&)>& say);

}  // namespace plimsoll::experiment
