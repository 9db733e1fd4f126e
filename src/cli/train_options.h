// The command line of `plimsoll train`. The spellings of PyTorch scripts (--batch_size,
// --num_neighbors 15 10) are accepted and mean the same.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/training_run.h"

namespace plimsoll::cli {

struct TrainOptions : launch::TrainRequest {
  uint64_t seeds = 0;  // trainings, each with its own seed; 0: one, without folders of their own
  std::optional<uint64_t> layers;         // --num-layers, which must be the number of fan-outs
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

// The command line of the training that these options describe, quoted for a shell. `memory` is the
// value of --memory.
std::string train_command_line(const CLI::App& command, const TrainOptions& options,
                               const std::string& memory);

}  // namespace plimsoll::cli
