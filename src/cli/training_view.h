// A training, or the seeds of one, as people read it: for `results`, `status` and `train --seeds`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launch/training_record.h"

namespace plimsoll::cli {

// Whether the folder is a training's and not a batch's.
bool is_training_folder(const std::filesystem::path& folder);

// Recipe, state, accuracy, time and memory; with several seeds, a line for each and their mean and
// standard deviation.
void print_training(const std::filesystem::path& folder);

// Whether each of the seeds is finished, runs or can be resumed.
void print_training_status(const std::filesystem::path& folder);

// The trainings of a folder that have results. Throws Error{io} if there is none.
std::vector<launch::TrainingRecord> read_trainings(const std::filesystem::path& folder);

// "1 epoch", "20 epochs".
std::string epochs_text(const launch::TrainingRecord& training);

// One of the figures of trainings that can be compared.
struct TrainingFigure {
  std::string name;  // "test accuracy"
  std::vector<double> values;
};
std::vector<TrainingFigure> figures_of(const std::vector<launch::TrainingRecord>& trainings);

// "0.8123 ± 0.0041 (n 5)", "214 ± 3 MiB (n 5)".
std::string describe(const TrainingFigure& figure);

}  // namespace plimsoll::cli
