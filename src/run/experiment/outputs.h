// The files that users read, summary.csv and experiment.json, and their repair after a crash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "experiment/catalog.h"
#include "experiment/csv_table.h"
#include "experiment/journal.h"
#include "experiment/queue.h"
#include "experiment/record.h"

namespace plimsoll::experiment {

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

}  // namespace plimsoll::experiment
