// A batch as its driver needs it: the content of the user's files, and the queue. It is made from
// the files, or from the copies of their texts in the journal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiment/catalog.h"
#include "experiment/json_reader.h"
#include "experiment/queue.h"
#include "experiment/settings.h"

namespace plimsoll::experiment {

// How many experiments run at once. Does not change what they are.
struct AtOnceOptions {
  std::optional<unsigned> at_once;       // --jobs; 1 without it
  std::optional<unsigned> gpus_per_job;  // without it: all for a single job, otherwise 1 each
  std::optional<uint64_t> memory_bytes;  // of all together
};

// Everything that defines a batch, as texts. The journal keeps it.
struct BatchTexts {
  std::string catalog_file;
  std::string catalog_text;
  std::string settings_file;  // empty: the command line
  std::string settings_text;
  CommandLine words;
  uint64_t seed = 0;
  KeyPolicy keys = KeyPolicy::usual;
  std::string working_folder;  // relative paths in the files start here
  std::optional<unsigned> max_retries;
  std::string governor;
  std::string gpus;  // like exec's --gpu; empty: all GPUs
  AtOnceOptions jobs;
  std::string logs;  // for other tools, as "csv,optuna"
};
std::string to_text(const BatchTexts& texts);
BatchTexts parse_texts(const std::string& text);

struct ExperimentBatch {
  Catalog catalog;
  Settings settings;
  std::vector<Experiment> queue;
};

// Pure. Adds everything that is wrong to `problems`.
ExperimentBatch read_batch(const BatchTexts& texts, Problems& problems);

// Draws the queue, and reads the tables of the history for that. The experiments have no ids yet.
void plan_batch(ExperimentBatch& batch, const BatchTexts& texts, Problems& problems);

// Throws Error{input} if the queue, as read from a journal, does not match the settings.
void check_queue(const ExperimentBatch& batch);

// The paths of historical_csvs: relative to the working folder or to the settings file.
std::vector<std::filesystem::path> history_tables(const ExperimentBatch& batch,
                                                  const BatchTexts& texts);

// The folder of a repository: relative to the working folder or to the model config.
std::filesystem::path folder_of(const Repository& repository, const BatchTexts& texts);

// Checks the repositories that entries name: reports missing folders and scripts that cannot be
// run.
void check_paths(const ExperimentBatch& batch, const BatchTexts& texts, Problems& problems);

// The following print to standard output.

// Each entry with its number of experiments, the total, and the seed.
void print_plan(const ExperimentBatch& batch, const BatchTexts& texts);

// The plan, and every experiment with its values, command and expected time. The expected times
// come from earlier runs in `results`.
void print_dry_run(const ExperimentBatch& batch, const BatchTexts& texts,
                   const std::filesystem::path& results);

// The repositories of a model config with their models and hyperparameters.
void print_catalog(const Catalog& catalog);

}  // namespace plimsoll::experiment
