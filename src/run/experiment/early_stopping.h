// Early stopping of a batch: hands the reports of running experiments to the boards of their
// entries, and keeps reports and decisions in the journal, so that a resumed batch makes the same
// decisions.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "experiment/batch.h"
#include "experiment/journal.h"
#include "experiment/record.h"
#include "experiment/stop_rule.h"
#include "experiment/training_log.h"

namespace plimsoll::experiment {

// Limits, objective and stop rule of an experiment: those of its repository and of its entry.
Terms terms_of(const Experiment& experiment, const ExperimentBatch& batch);

class EarlyStopping {
 public:
  // `say` tells the user what was found.
  EarlyStopping(const ExperimentBatch& batch, Journal& journal,
                std::function<void(const std::string&)> say);

  // Restores reports and decisions from the journal.
  void recall();

  // Null if the experiment has no objective.
  std::unique_ptr<LogFollower> follow(const Experiment& experiment,
                                      const std::filesystem::path& log) const;

  void report(const Experiment& experiment, const std::vector<Report>& reports);
  // It has ended for good and reports nothing more; `last` is the attempt that counts.
  void ended(const Experiment& experiment, const AttemptResult& last);

  // Makes all decisions that can be made now.
  void decide();

  // How it is stopped; null if it continues, or if that is not decided yet.
  const StopRecord* stop_of(const Experiment& experiment) const;
  // Whether nothing remains to be decided about it.
  bool settled(const Experiment& experiment) const;

 private:
  StopBoard* board_of(const Experiment& experiment);
  void say_length(const Experiment& experiment, uint64_t steps, const StopRule& rule) const;

  const ExperimentBatch& batch_;
  Journal& journal_;
  std::function<void(const std::string&)> say_;
  std::map<size_t, StopBoard> boards_;  // by entry
  std::set<size_t> lengths_said_;       // entries
  std::map<size_t, StopRecord> stops_;  // by experiment number
};

}  // namespace plimsoll::experiment
