// Energy in the files of a run: columns of the summary, energy_metrics of experiment.json. The
// names are those that users' scripts read; a cell without a figure is empty, which is not 0.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiment/outputs.h"
#include "experiment/record.h"

namespace plimsoll::experiment {

// CPU, and all GPUs together.
Row energy_columns();
Row energy_cells(const AttemptResult& attempt);

// Where the figures come from, how much of the run they cover, how far they can be trusted.
Row energy_note_columns();
Row energy_notes(const AttemptResult& attempt);

// Of one GPU, where there are several.
Row gpu_columns(unsigned index);
Row gpu_cells(const energy::GpuFigures& gpu);

// The figures alone, and with all that is known about them.
nlohmann::ordered_json energy_figures_json(const AttemptResult& attempt);
nlohmann::ordered_json energy_json(const AttemptResult& attempt);

// Those that are compared between runs of one configuration: "gpu_joules".
struct NamedFigure {
  std::string name;
  double value = 0;
};
std::vector<NamedFigure> energy_to_compare(const AttemptResult& attempt);

}  // namespace plimsoll::experiment
