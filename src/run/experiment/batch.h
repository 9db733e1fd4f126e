// A batch as its driver needs it: what the user's files say, and the queue. Made from the files, or
// again from the texts that the journal kept of them.
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

// All that decides about a batch, as texts: what the journal keeps.
struct BatchTexts {
  std::string catalog_file;
  std::string catalog_text;
  std::string settings_file;  // empty: the command line
  std::string settings_text;
  CommandLine words;
  uint64_t seed = 0;
  bool lenient = false;
  std::string working_folder;  // in which paths of the files begin
  std::optional<unsigned> max_retries;
  std::string governor;
  std::string gpus;  // as exec's --gpu; empty: all there are
};
std::string to_text(const BatchTexts& source);
BatchTexts source_of(const std::string& text);

struct ExperimentBatch {
  Catalog catalog;
  Settings settings;
  std::vector<Experiment> queue;
};

// Pure but for the checks of paths. Everything that is wrong is in `problems`.
ExperimentBatch read_batch(const BatchTexts& source, Problems& problems);

// Draws the queue; reads the tables of the history. The experiments have no ids yet.
void plan_batch(ExperimentBatch& batch, const BatchTexts& source, Problems& problems);

// Throws Error{input} where the queue, as a journal had it, does not belong to the settings.
void check_queue(const ExperimentBatch& batch);

// The historical_csvs, where they are: under the working folder, or beside the settings.
std::vector<std::filesystem::path> history_tables(const ExperimentBatch& batch,
                                                  const BatchTexts& source);

// Where a repository is: under the working folder, or beside the model config.
std::filesystem::path folder_of(const Repository& repository, const BatchTexts& source);

// Repositories that are missing, scripts that cannot be run: of those that entries name.
void check_paths(const ExperimentBatch& batch, const BatchTexts& source, Problems& problems);

// What a batch will do, and what a model config offers, as text on standard output.

// Each entry with its number of experiments, the total, the seed.
void print_plan(const experiment::ExperimentBatch& batch, const experiment::BatchTexts& source);

// Besides, every draw, command and expected time; the latter by the runs in `results`.
void print_dry_run(const experiment::ExperimentBatch& batch, const experiment::BatchTexts& source,
                   const std::filesystem::path& results);

void print_catalog(const experiment::Catalog& catalog);

}  // namespace plimsoll::experiment
