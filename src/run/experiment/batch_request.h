// What a user asks for with `plimsoll run`, and the files that it names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "experiment/batch.h"
#include "experiment/journal.h"

namespace plimsoll::experiment {

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
  JobOptions jobs;
  std::string logs;  // for other tools, as "csv,optuna"
};

using SayLine = std::function<void(const std::string&)>;

// Reads the files. Throws Error{usage} if there is no model config, Error{io} if a file cannot be
// read.
BatchTexts read_texts(const BatchRequest& request);

// The model config that the request means, for --list.
Catalog read_named_catalog(const BatchRequest& request, Problems& problems);

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
JobOptions changed_jobs(JobOptions earlier, const JobOptions& wanted);

}  // namespace plimsoll::experiment
