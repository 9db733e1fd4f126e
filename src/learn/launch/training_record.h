// A training as its folder shows it: results.json, read without torch. For commands that look at
// trainings instead of running them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "recipe/recipe.h"

namespace plimsoll::launch {

struct EpochRecord {
  uint64_t epoch = 0;  // from 1
  std::optional<double> loss;
  std::optional<double> valid_accuracy;  // empty in epochs without evaluation
  std::optional<double> test_accuracy;
  std::optional<double> seconds;
};

struct TrainingRecord {
  std::filesystem::path folder;
  std::string dataset;
  std::string status;  // "finished", "stopped" or "early stopped"
  std::string device;
  std::string timestamp;
  recipe::Recipe recipe;
  uint64_t parameters = 0;
  uint64_t best_epoch = 0;
  std::optional<double> train_accuracy;  // of the best epoch, like the next two
  std::optional<double> valid_accuracy;
  std::optional<double> test_accuracy;
  std::optional<double> seconds;
  uint64_t peak_memory_bytes = 0;
  std::vector<EpochRecord> series;
};

// The folders of the trainings that `folder` has: itself, or seed_N in it (train --seeds), by their
// number. Empty if it is neither.
std::vector<std::filesystem::path> training_folders(const std::filesystem::path& folder);

// Whether the folder has a run that is not finished: a checkpoint, but no results.
bool has_only_checkpoint(const std::filesystem::path& folder);

// Whether a process trains into this folder now.
bool is_training_now(const std::filesystem::path& folder);

// Throws Error{io} if there is no results.json, Error{input} if it is not one of a training.
TrainingRecord read_training(const std::filesystem::path& folder);

// The folder of one of several seeds.
std::filesystem::path seed_folder(const std::filesystem::path& folder, uint64_t seed);

}  // namespace plimsoll::launch
