// Draws hyperparameters at random. It draws each combination only once, never the combination of
// all defaults, and none from the history. The same seed gives the same draws. Pure.
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

// The value for these random bits: `bits` decide whether it is zero, `more_bits` decide the rest.
Value draw_value(const Hyperparameter& parameter, uint64_t bits, uint64_t more_bits);

// The number of different values; nothing if there are too many to enumerate.
std::optional<uint64_t> distinct_values(const Hyperparameter& parameter);

class Drawer {
 public:
  // Draws the parameters in `mutate`; the others keep their value in `base`. `stream` gives every
  // entry its own random sequence for the same seed.
  Drawer(const Repository& repository, const std::vector<std::string>& mutate, Values base,
         uint64_t seed, uint64_t stream);

  // This combination will not be drawn.
  void forbid(const Values& values);

  // The next combination; nothing if all are taken.
  std::optional<Values> next();

  // The number of combinations not yet taken; nothing if there are too many to enumerate.
  std::optional<uint64_t> left() const;

 private:
  // The numbers in the order of base_; they identify a combination.
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
  std::set<Combination> taken_;  // only combinations that could be drawn
};

}  // namespace plimsoll::experiment
