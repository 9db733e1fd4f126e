// The files of a run that people and their scripts read, made from the journal's records: each
// appears whole or not at all, after every experiment.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "experiment/catalog.h"
#include "experiment/queue.h"
#include "experiment/record.h"
#include "experiment/table.h"

namespace plimsoll::experiment {

// Its columns are known before the first experiment, so that every row has the same.
class Summary {
 public:
  Summary(const std::vector<Experiment>& queue, const Catalog& catalog);
  void set(const Experiment& experiment, const ExperimentResult& result);
  std::string text() const;

 private:
  Row row(const Experiment& experiment, const ExperimentResult& result) const;

  std::vector<std::string> parameters_;
  std::vector<std::string> metrics_;
  std::map<size_t, std::string> lines_;  // by the experiments' numbers
};

// `attempts`: those that ended, the last one last.
std::string experiment_json(const Experiment& experiment, const ExperimentResult& result,
                            const std::vector<AttemptResult>& attempts);

// Throws Error where it cannot be written. Not synced: the journal is, and makes it again.
void write_whole(const std::filesystem::path& file, const std::string& text);

// Under sudo, what we made belongs to who called it. Does nothing otherwise.
void give_to_caller(const std::filesystem::path& folder);

}  // namespace plimsoll::experiment
