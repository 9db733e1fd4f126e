// The files that users read: summary.csv, experiment.json, and what is mended in them after a
// crash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
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

// Tables as comma-separated text: those of earlier batches, and the summary.

using Row = std::vector<std::string>;

// What a table that is read whole may have, and a row of it.
constexpr uint64_t kMostTableBytes = 64 * kMiB;
constexpr size_t kMostCells = 10000;

// The rows, each with its number, from 1; the first has the names of the columns. Cells may be
// quoted; empty lines are left out. Throws Error{input} for a row of too many cells.
void for_each_row(std::string_view text, const std::function<void(size_t number, Row row)>& take);
std::vector<Row> parse_table(std::string_view text);

// Quotes what needs it.
std::string table_cells(const Row& cells);
// The same with the line's end.
std::string table_line(const Row& cells);

// The files of a run that people and their scripts read, made from the journal's records: each
// appears whole or not at all, after every experiment.

// Every row has the same columns: they are known before the first experiment, but for those of
// several GPUs, which all rows get when the first one has them.
class SummaryTable {
 public:
  SummaryTable(const std::vector<Experiment>& queue, const Catalog& catalog);
  void set(const Experiment& experiment, const ExperimentResult& result);
  std::string text() const;

 private:
  struct Line {
    std::string cells;                     // without its end
    std::map<unsigned, std::string> gpus;  // each GPU's cells, by its index
    std::string background;                // cells of the load beside it, after all others
  };
  Row row(const Experiment& experiment, const ExperimentResult& result) const;

  std::vector<std::string> parameters_;
  std::vector<std::string> metrics_;
  std::map<size_t, Line> lines_;    // by the experiments' numbers
  std::set<unsigned> gpu_columns_;  // of experiments with several
};

// `attempts`: those that ended, the last one last.
std::string experiment_json(const Experiment& experiment, const ExperimentResult& result,
                            const std::vector<AttemptResult>& attempts);

// A run as its journal tells it.
struct RunRecords {
  std::filesystem::path folder;
  const Catalog& catalog;
  const std::vector<Experiment>& queue;
  const std::vector<JournalEntry>& entries;  // as many
  const std::vector<JournalAttempt>& attempts;
};

// The files of finished experiments, and the table, that are missing, empty or not what the journal
// says, as after a loss of power; `mend` makes each of them again.
enum class Mend { yes, no };
std::vector<std::filesystem::path> wrong_outputs(const RunRecords& run, Mend mend);

// Under sudo, what we made belongs to who called it. Does nothing otherwise.
void give_to_caller(const std::filesystem::path& folder);

}  // namespace plimsoll::experiment
