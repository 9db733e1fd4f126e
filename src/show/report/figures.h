// Single figures of runs: for files of their own, and for terminals.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "answer/selection.h"
#include "plot/chart.h"
#include "report/run_data.h"

namespace plimsoll::report {

// The figures that figure_file() knows: of a training loss, accuracy and memory, of a batch queue
// and cost.
const std::vector<std::string>& figure_names();

// A figure as an SVG file. `path`: a run, or with `memory` also a table that train --memory-log
// wrote. An empty title: the usual one. Throws Error{usage} if the run has no such figure.
std::string figure_file(const std::filesystem::path& path, std::string_view name,
                        const std::string& title);

// Loss and accuracy over the epochs, as far as there are any.
std::vector<plot::Chart> epoch_charts(const launch::TrainingRecord& record);

// A figure of all runs against one of the parameters.
plot::Chart parameter_chart(const answer::Configurations& configurations, const answer::Aim& aim,
                            const std::string& parameter);

}  // namespace plimsoll::report
