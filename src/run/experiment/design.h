// The design of an entry: which settings (combinations of values) its experiments have. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiment/values.h"

namespace plimsoll::experiment {

// Holds if the parameter has one of these values, or one between `least` and `most`. It does not
// hold for a parameter without a value.
struct Condition {
  std::string parameter;
  std::vector<Value> any_of;
  std::optional<double> least;
  std::optional<double> most;
};
using Conditions = std::vector<Condition>;  // all must hold

bool holds(const Condition& condition, const Values& values);
// "optimizer sgd or adam", "epochs at least 3"
std::string describe(const Condition& condition);
std::string describe(const Conditions& conditions);  // with "and" between them
bool holds(const Conditions& conditions, const Values& values);

struct ParameterChoices {
  std::string parameter;
  std::vector<Value> values;  // never empty
};

// What a setting must satisfy.
struct DesignRules {
  std::vector<Conditions> exclude;            // a setting for which one of them holds is left out
  std::map<std::string, Conditions> only_if;  // otherwise the parameter has no value

  bool excludes(const Values& values) const;
  // Without the parameters whose conditions do not hold. A condition on a parameter that is removed
  // does not hold either.
  Values settled(Values values) const;
  bool none() const { return exclude.empty() && only_if.empty(); }
};

struct Design {
  enum class Kind {
    draws,  // each parameter at random, from its range or its choices
    lhs,    // at random as a Latin hypercube: spread evenly over each parameter
    grid,   // every combination
    list,   // as listed
  };
  Kind kind = Kind::draws;
  std::vector<ParameterChoices> choices;  // of draws and lhs, instead of the ranges
  std::vector<ParameterChoices> grid;
  std::vector<Values> list;
  DesignRules rules;

  // Whether the grid or the list gives values to this parameter.
  bool lists(std::string_view parameter) const;
};
std::string_view name(Design::Kind kind);  // "mutation", "lhs", "grid", "list"

// The number of combinations, or nothing if they exceed `most`.
std::optional<uint64_t> grid_size(const std::vector<ParameterChoices>& grid, uint64_t most);

// Every combination, over `base`; the last parameter varies fastest.
std::vector<Values> grid_settings(const std::vector<ParameterChoices>& grid, const Values& base);

// `count` of the `size` first numbers, in ascending order, drawn without replacement.
std::vector<size_t> drawn_places(size_t size, size_t count, uint64_t seed, uint64_t stream);

// A permutation of the numbers below `size`, for this seed.
std::vector<size_t> shuffled(size_t size, uint64_t seed, uint64_t stream);

}  // namespace plimsoll::experiment
