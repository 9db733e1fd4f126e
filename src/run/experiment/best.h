// Which results are better, and the best configuration so far. A configuration is what an
// experiment was asked to do, without its seed: repeats belong to one configuration.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/catalog.h"
#include "experiment/record.h"

namespace plimsoll::experiment {

// Judged by the words of its name: loss, error, perplexity, seconds, joules and the like.
bool smaller_is_better(std::string_view figure);

// Whether the hyperparameter only chooses random numbers: seed, random_seed and the like.
bool names_a_seed(std::string_view hyperparameter);

// The values without seeds.
Values without_seeds(const Values& values);

// "toy/good beside toy/busy (epochs 3): epochs 3, learning_rate 3e-05", for the values that the
// attempt was started with. Different loads make different configurations.
std::string configuration_name(const Experiment& experiment, const Values& values);

// The best mean of each repository's first metric.
class BestSoFar {
 public:
  explicit BestSoFar(const Catalog& catalog);
  void add(const Experiment& experiment, const ExperimentResult& result);
  // "loss 0.412 ± 0.012 (n 5), toy/good: epochs 3"; empty before the first success.
  std::string describe() const;

 private:
  std::map<std::string, std::string> metric_;  // of each repository
  // By repository and configuration.
  std::map<std::string, std::map<std::string, std::vector<double>>> values_;
};

}  // namespace plimsoll::experiment
