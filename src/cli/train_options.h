// The command line of `plimsoll train`. The spellings of PyTorch scripts (--batch_size,
// --num_neighbors 15 10) are accepted and mean the same.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "cli/running.h"
#include "recipe/recipe.h"

namespace plimsoll::cli {

struct TrainOptions {
  std::filesystem::path store;      // either this ...
  std::filesystem::path data_root;  // ... or this
  recipe::Recipe recipe;
  std::set<std::string> given;  // the fields of the recipe that the user gave
  std::filesystem::path save_dir = "models";
  std::filesystem::path resume;  // empty: a new run; else the same as save_dir
  bool force = false;
  uint64_t seeds = 0;  // trainings, each with its own seed; 0: one, without folders of their own
  uint64_t save_every = 0;
  double checkpoint_minutes = 30;
  std::filesystem::path memory_log;
  RunningOptions running;
  std::vector<std::string> fanout_words;  // as they stand on the command line
};

// The options that decide what is learned, under the headings Model and Learning. Here and below,
// `options` must live until the command has run.
void add_recipe_options(CLI::App& command, TrainOptions& options);

void add_train_options(CLI::App& command, TrainOptions& options);

// Checks and completes what cannot be parsed word by word. Call it first in the command's callback.
// Throws Error{usage}.
void complete(const CLI::App& command, TrainOptions& options);

// The part of complete() for the recipe: which fields were given, and the words of --fanout.
void complete_recipe(const CLI::App& command, TrainOptions& options);

// Throws Error{usage} if the user gave an option that this model does not have.
void check_for_model(const recipe::Recipe& recipe, const std::set<std::string>& given);

// The command line of the training that these options describe, quoted for a shell. `memory` is the
// value of --memory.
std::string training_command(const CLI::App& command, const TrainOptions& options,
                             const std::string& memory);

// The command line that continues this run, quoted for a shell. The checkpoint keeps the recipe, so
// only other options are repeated.
std::string continuing_command(const CLI::App& command, const TrainOptions& options);

}  // namespace plimsoll::cli
