// The files that users read, summary.csv and experiment.json, and their repair after a crash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "experiment/catalog.h"
#include "experiment/journal.h"
#include "experiment/queue.h"
#include "experiment/record.h"

namespace plimsoll::experiment {

// A row of a CSV table.
using Row = std::vector<std::string>;

constexpr uint64_t kMostTableBytes = 64 * kMiB;  // of a table that is read whole
constexpr size_t kMostCells = 10000;             // of a row

// Calls `take` for each row of a CSV text, with the row's number from 1; the first row has the
// names of the columns. Cells may be quoted; empty lines are skipped. Throws Error{input} for a row
// with too many cells.
void for_each_row(std::string_view text, const std::function<void(size_t number, Row row)>& take);
std::vector<Row> parse_table(std::string_view text);

// The cells as one CSV line, quoted if needed.
std::string table_cells(const Row& cells);
// The same with a line end.
std::string table_line(const Row& cells);

// The content of summary.csv. Warm-ups are not in it. All rows have the same columns. These are
// known before the first experiment, except the columns of several GPUs: all rows get them when one
// experiment has them.
class SummaryTable {
 public:
  SummaryTable(const std::vector<Experiment>& queue, const Catalog& catalog);
  void set(const Experiment& experiment, const ExperimentResult& result);
  std::string text() const;

 private:
  struct Line {
    std::string cells;                     // without a line end
    std::map<unsigned, std::string> gpus;  // the cells of each GPU, by index
    std::string last;                      // the cells of its background load and its design
  };
  Row row(const Experiment& experiment, const ExperimentResult& result) const;

  std::vector<std::string> parameters_;
  std::vector<std::string> metrics_;
  std::map<size_t, Line> lines_;    // by experiment number
  std::set<unsigned> gpu_columns_;  // the GPUs of experiments with several
};

// `attempts`: those that have ended, in order.
std::string experiment_json(const Experiment& experiment, const ExperimentResult& result,
                            const std::vector<AttemptResult>& attempts);

// What the files of a run are made from; refers to values of the caller.
struct OutputFacts {
  std::filesystem::path folder;
  const Catalog& catalog;
  const std::vector<Experiment>& queue;
  const std::vector<JournalEntry>& entries;  // one per experiment in `queue`
  const std::vector<JournalAttempt>& attempts;
};

// The experiment.json files of finished experiments and the summary.csv that are missing or differ
// from the journal, as after a power loss. With Mend::yes, writes each of them again.
enum class Mend { yes, no };
std::vector<std::filesystem::path> wrong_outputs(const OutputFacts& run, Mend mend);

// Under sudo, gives the folder and its content to the user who called sudo. Otherwise does nothing.
void give_to_caller(const std::filesystem::path& folder);

// The energy in these files: columns of summary.csv, and energy_metrics in experiment.json. The
// names must stay, because users' scripts read them. A cell without a figure is empty, not 0.

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

// A figure that is compared between runs of one configuration: "gpu_joules".
struct NamedFigure {
  std::string name;
  double value = 0;
};
std::vector<NamedFigure> energy_to_compare(const AttemptResult& attempt);

}  // namespace plimsoll::experiment
