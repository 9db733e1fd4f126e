// Finished experiments by configuration. A configuration is what an experiment was asked to do,
// without its seed; its repeats give every figure a mean and a spread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiment/catalog.h"
#include "experiment/record.h"
#include "statistics/sample.h"

namespace plimsoll::answer {

// Names of figures that every experiment may have, besides its metrics.
constexpr const char* kSeconds = "seconds";
constexpr const char* kEnergy = "energy";  // joules, of CPU and GPU together
constexpr const char* kCo2 = "co2";        // grams; only if the user says how many a kWh has
constexpr const char* kCost = "cost";      // only if the user says the price of a kWh

// The figure of a metric: its name, or "perf_energy" for a metric that is called like one of the
// figures above. So the two are never mixed.
std::string figure_of_metric(const std::string& metric);

struct Outcome {
  experiment::Experiment experiment;
  experiment::ExperimentResult result;
};

// The values of one figure over the successful runs of a configuration.
struct FigureValues {
  std::vector<double> numbers;
  std::map<std::string, size_t> not_numbers;  // "nan", "inf", "-inf": how often

  void add(double number);
  statistics::Moments moments() const { return statistics::moments_of(numbers); }
};

struct Configuration {
  size_t number = 0;  // from 1, in the order of the queue: it stays the same while a batch runs
  std::string repository;
  std::string model;
  std::string background;     // "toy/busy (epochs 3)"; empty without a load
  experiment::Values values;  // without nuisances such as a seed
  size_t runs = 0;
  size_t succeeded = 0;
  std::map<std::string, size_t> failures;  // by the name of the cause
  size_t stopped = 0;                      // early, by the batch; they did not fail
  FigureValues values_at_stop;             // of the objective
  uint64_t first_stop = 0;                 // the steps of the first and the last
  uint64_t last_stop = 0;
  size_t same_seed = 0;  // successful runs with the seed of an earlier one: maybe copies of it
  std::map<std::string, FigureValues> figures;
  size_t shared = 0;  // runs whose energy includes other processes
  double least_coverage = 1;
  std::vector<size_t> members;  // indices of its outcomes
};

// What the user says about electricity. Nothing is assumed.
struct EnergyPrices {
  std::optional<double> grams_per_kwh;
  std::optional<double> price_per_kwh;
  std::string currency;
};

// Sets price and currency from "0.30" or "0.30 EUR"; nothing if the text is empty. Throws
// Error{usage}.
void set_price(EnergyPrices& prices, const std::string& text);

struct Configurations {
  std::vector<Configuration> all;
  std::vector<std::string> metrics;     // their figures, in the order of the model config
  std::vector<std::string> parameters;  // the same, without seeds
  std::set<std::string> nuisances;      // seeds and the like
  std::set<std::string> energy_parts;   // "CPU", "GPU": what the column energy includes
  std::map<std::string, std::set<std::string>> energy_missing;  // reasons for each part
  size_t runs = 0;
  size_t succeeded = 0;
  std::map<std::string, size_t> failures;
  size_t stopped = 0;
  size_t suspicious = 0;
  std::optional<experiment::Objective> objective;  // what the settings look for; of a figure
  size_t unfinished = 0;
  EnergyPrices prices;

  size_t last_number() const;  // of all, in any order; 0 if there is none
  // Metrics, seconds, energy and what follows from it, as far as one configuration has them.
  std::vector<std::string> figures() const;
};

// "--price has no effect: ...": prices without an energy that they could apply to.
std::vector<std::string> notes_on_prices(const Configurations& configurations);

// Forgets the configurations that `keep` does not want; the others keep their numbers.
void keep_only(Configurations& configurations,
               const std::function<bool(const Configuration&)>& keep);

Configurations group(const std::vector<Outcome>& outcomes, const experiment::Catalog& catalog,
                     const EnergyPrices& prices);

// The joules of all of `parts`; nothing if one of them is missing.
std::optional<double> energy_of(const experiment::AttemptResult& attempt,
                                const std::set<std::string>& parts);

// Throws Error{usage}, which begins with `asked`, if `name` is a seed or another nuisance.
void refuse_nuisance(const Configurations& configurations, const std::string& asked,
                     const std::string& name);

// "3 repeats have the same seed as another repeat ...": they may be no independent values.
std::string same_seed_note(size_t repeats);

// "own error 2, timed_out 1": the causes of failures for people.
std::string counts_of_causes(const std::map<std::string, size_t>& causes);

// The mean of a figure; nothing if no successful run has it.
std::optional<double> mean_of(const Configuration& one, const std::string& figure);

// A figure with its unit, for headings: "time (s)". Energy and cost have none here: unit_of()
// chooses theirs.
std::string heading_of(const std::string& figure);

// "learning_rate 3e-05": what differs from the others; everything if nothing varies.
std::string short_name(const Configurations& configurations, const Configuration& one);

// The parameters that have different values in different configurations.
std::vector<std::string> varying_parameters(const Configurations& configurations);

// The text of a parameter's value; empty if the configuration does not have it.
std::string value_text(const Configuration& one, const std::string& parameter);

// The same for people: with four digits, or as many as tell all values of the parameter apart.
class ShownValues {
 public:
  ShownValues(const Configurations& configurations, std::string parameter);
  std::string of(const Configuration& one) const;
  bool rounded() const;  // whether a value has more digits than are shown

 private:
  static std::string text(const experiment::Value& value, int digits);

  const Configurations& configurations_;
  std::string parameter_;
  int digits_ = 4;
};

// What a configuration has under a name: a hyperparameter, or else model, repo, training
// (repo/model) or beside. Empty if it has nothing.
std::string named_text(const Configurations& configurations, const Configuration& one,
                       const std::string& name);

}  // namespace plimsoll::answer
