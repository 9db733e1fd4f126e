// The energy in summary.csv and experiment.json. The names of columns and keys must stay, because
// users' scripts read them. A cell without a figure is empty, not 0.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "energy/report.h"
#include "experiment/csv_table.h"
#include "experiment/record.h"

namespace plimsoll::experiment {

// CPU, and all GPUs together.
Row energy_columns();
Row energy_cells(const AttemptResult& attempt);

// The figures' source, coverage and quality.
Row energy_note_columns();
Row energy_notes(const AttemptResult& attempt);

// For one GPU; used if there are several.
Row gpu_columns(unsigned index);
Row gpu_cells(const energy::GpuFigures& gpu);

// The figures alone, and the figures with all details.
nlohmann::ordered_json energy_figures_json(const AttemptResult& attempt);
nlohmann::ordered_json energy_json(const AttemptResult& attempt);

}  // namespace plimsoll::experiment
