// The finished experiments of one or several runs, from their journals.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "answer/configuration.h"
#include "experiment/batch.h"
#include "experiment/catalog.h"
#include "experiment/terms.h"

namespace plimsoll::answer {

// The objective of a batch: the first one that an entry states.
std::optional<experiment::Objective> stated_objective(const experiment::ExperimentBatch& batch);

// The experiments in the order of the runs, numbered consecutively across them. Their ids stay.
struct MergedRuns {
  experiment::Catalog catalog;
  std::vector<Outcome> finished;
  size_t unfinished = 0;
  std::optional<experiment::Objective> objective;  // of the first run that states one
};

// Each folder counts once, however it is named.
MergedRuns merge_runs(const std::vector<std::filesystem::path>& folders);

// By configuration.
Configurations configurations_of(const MergedRuns& merged, const EnergyPrices& prices);

// Keeps only the configurations that meet the conditions (--where), and their experiments.
void keep_where(const std::string& conditions, MergedRuns& merged, Configurations& all);

// One line, or one object, per experiment, as in summary.csv and experiment.json.
std::string experiments_csv(const MergedRuns& merged);
nlohmann::ordered_json experiments_json(const MergedRuns& merged);

}  // namespace plimsoll::answer
