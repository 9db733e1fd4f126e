// Figures on a terminal, for --plot of `results`, `inspect` and `plan`.
#pragma once

#include <vector>

#include "answer/selection.h"
#include "graph/summary.h"
#include "plan/describe.h"
#include "plot/chart.h"

namespace plimsoll::screen {

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
