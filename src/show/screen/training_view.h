// A training, or the seeds of one, as people read it: for `results`, `status` and `train --seeds`.
#pragma once

#include <filesystem>
#include <string>

#include "launch/training_record.h"

namespace plimsoll::screen {

// Whether the folder is a training's and not a batch's.
bool is_training_folder(const std::filesystem::path& folder);

// Recipe, state, accuracy, time and memory; with several seeds, a line for each, and mean and
// standard deviation over those that ended. Seeds that differ in their recipe have means of their
// own.
void print_training(const std::filesystem::path& folder);

// One line: the test accuracy's mean and standard deviation over the seeds.
void print_training_mean(const std::filesystem::path& folder);

// "1 of 3 seeds not finished, left out"; empty if all of them count.
std::string left_out_note(size_t seeds, size_t counted_ones);

// Whether each of the seeds is finished, runs or can be resumed.
void print_training_status(const std::filesystem::path& folder);

// "0.8123 ± 0.0041 (n 5)", "214 ± 3 MiB (n 5)".
std::string describe(const launch::TrainingFigure& figure);

}  // namespace plimsoll::screen
