// The command line of `plimsoll train`: our options, and those of the Python scripts that it stands
// in for (--batch_size, --num_neighbors 15 10), which mean the same.
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
  std::set<std::string> given;  // the fields of the recipe that the user named
  std::filesystem::path save_dir = "models";
  std::filesystem::path resume;  // empty: a new run; else the same as save_dir
  bool force = false;
  uint64_t save_every = 0;
  double checkpoint_minutes = 30;
  std::filesystem::path memory_log;
  RunningOptions running;
  std::vector<std::string> fanout_words;  // as they stand on the command line
};

// What decides what is learned, under the headings Model and Learning. `options` must live until
// the command has run, here and below.
void add_recipe_options(CLI::App& command, TrainOptions& options);

void add_train_options(CLI::App& command, TrainOptions& options);

// What parsing cannot do word by word: call it first in the command's callback. Throws
// Error{usage}.
void complete(const CLI::App& command, TrainOptions& options);

// The part of it that concerns the recipe: which fields were named, and the words of --fanout.
void complete_recipe(const CLI::App& command, TrainOptions& options);

// Throws Error{usage} where the user named something that this model has not got.
void check_for_model(const recipe::Recipe& recipe, const std::set<std::string>& given);

// The training that these options describe, ready for a shell; `memory` is the word of --memory.
std::string training_command(const CLI::App& command, const TrainOptions& options,
                             const std::string& memory);

// The command that goes on after this one: its checkpoint keeps the recipe, so only what is not in
// there is repeated. Ready for a shell.
std::string continuing_command(const CLI::App& command, const TrainOptions& options);

}  // namespace plimsoll::cli
