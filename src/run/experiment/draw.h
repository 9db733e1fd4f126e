// Draws hyperparameters: each combination once, never the one of all defaults, none that the
// history has. The same seed gives the same draws. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiment/catalog.h"
#include "experiment/values.h"

namespace plimsoll::experiment {

// One parameter's value by `bits` that decide about zero, and `more_bits` about the rest.
Value draw_value(const Hyperparameter& parameter, uint64_t bits, uint64_t more_bits);

// How many different values there are; nothing where they are as good as countless.
std::optional<uint64_t> distinct_values(const Hyperparameter& parameter);

class Drawer {
 public:
  // Draws `mutate` of `repository`, leaves `base` otherwise. `stream` tells the entries of one seed
  // apart. `taken` are combinations that must not come again.
  Drawer(const Repository& repository, const std::vector<std::string>& mutate, Values base,
         uint64_t seed, uint64_t stream);

  void forbid(const Values& values);

  // Nothing where all are taken.
  std::optional<Values> next();

  // Combinations that are not taken; nothing where they are as good as countless.
  std::optional<uint64_t> left() const;

 private:
  // The numbers in the order of base_, which tells two combinations apart.
  using Combination = std::vector<std::pair<double, int64_t>>;
  static Combination combination_of(const Values& values);
  bool taken(const Values& values) const { return taken_.contains(combination_of(values)); }
  bool in_space(const Values& values) const;
  std::optional<Values> first_free_from(uint64_t start) const;
  std::optional<uint64_t> combinations() const;
  Values combination(uint64_t index) const;

  std::vector<const Hyperparameter*> parameters_;
  Values base_;
  uint64_t seed_;
  uint64_t stream_;
  uint64_t draws_ = 0;
  std::set<Combination> taken_;  // within the space
};

}  // namespace plimsoll::experiment
