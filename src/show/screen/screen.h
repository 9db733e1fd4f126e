// What a terminal shows of stores and trainings: a store, a training or its seeds, two trainings
// compared, and figures for --plot.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "answer/selection.h"
#include "graph/store.h"
#include "graph/summary.h"
#include "launch/training_record.h"
#include "plan/describe.h"
#include "plot/chart.h"

namespace plimsoll::screen {

// A store as people read it: its shape, its files, and its numbers with bars beside them.
void print_store(const graph::Store& store, const graph::StoreSummary& summary);

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

// Two trainings side by side: what differs in their recipes, and in accuracy, time, memory and
// curves. Of several seeds each, whether the difference is real.
//
// The --save-dir of each. Both functions throw Error{io} if one has no results, Error{usage} if
// they have a training in common, Error{input} if one mixes trainings with different recipes.
struct ComparedTrainings {
  std::filesystem::path a;
  std::filesystem::path b;
};

void print_comparison(const ComparedTrainings& folders);
nlohmann::ordered_json comparison_json(const ComparedTrainings& folders);

// Prints to stdout, as wide as the terminal; in Braille where the locale has it.
void print_plots(const std::vector<plot::Chart>& charts);
void print_plot(const plot::BarChart& chart);

// The in-degrees of a store, and which share of the visits goes to its first rows.
std::vector<plot::Chart> store_charts(const graph::StoreSummary& summary);

// What a plan holds in memory.
plot::BarChart memory_parts(const plan::Plan& plan);
// The time of an epoch over the memory limit, a curve for each fan-out; empty if the machine has
// not been measured or no plan fits.
std::vector<plot::Chart> epoch_times(const std::vector<plan::PlanRow>& rows);

// The figure that the batch is about, against each parameter that varies.
std::vector<plot::Chart> parameter_charts(const answer::Configurations& configurations,
                                          const answer::Aim& aim);

}  // namespace plimsoll::screen
