// Which results are better, and the best configuration so far. A configuration is what an
// experiment was asked to do, without its seed: repeats belong to one configuration.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/catalog.h"
#include "experiment/record.h"
#include "experiment/settings.h"

namespace plimsoll::experiment {

// Judged by the words of its name: loss, error, perplexity, seconds, joules and the like.
bool smaller_is_better(std::string_view figure);

// The values of a training of this repository without nuisances such as a seed.
Values without_nuisances(const Values& values, const Repository* repository);

// "toy/good beside toy/busy (epochs 3): epochs 3, learning_rate 3e-05", for the values that the
// attempt was started with. Different loads make different configurations.
std::string configuration_name(const Experiment& experiment, const Values& values,
                               const Catalog& catalog);

// What the batch looks for in a repository: its objective, or its first metric, whose name says
// what is better. Nothing if it has no metric.
std::optional<Objective> objective_of(const Repository& repository, const Settings& settings);

// The best mean of each repository's objective.
class BestSoFar {
 public:
  // Both must live as long as this.
  BestSoFar(const Catalog& catalog, const Settings& settings);
  void add(const Experiment& experiment, const ExperimentResult& result);
  // "loss 0.412 ± 0.012 (n 5), toy/good: epochs 3"; empty before the first success.
  std::string describe() const;

 private:
  const Catalog& catalog_;
  std::map<std::string, Objective> objective_;  // of each repository
  // By repository and configuration.
  std::map<std::string, std::map<std::string, std::vector<double>>> values_;
};

}  // namespace plimsoll::experiment
