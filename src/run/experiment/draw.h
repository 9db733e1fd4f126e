// Draws hyperparameters at random. It draws each combination only once, none from the history, and
// none that the rules of the design exclude. It never draws the combination of all defaults, unless
// the design lists choices. The same seed gives the same draws. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "experiment/catalog.h"
#include "experiment/design.h"
#include "experiment/values.h"

namespace plimsoll::experiment {

// The value for these random bits: `bits` decide whether it is zero, `more_bits` decide the rest.
Value draw_value(const Hyperparameter& parameter, uint64_t bits, uint64_t more_bits);

// The number of different values; nothing if there are too many to enumerate.
std::optional<uint64_t> distinct_values(const Hyperparameter& parameter);

// Whether it can be drawn with a value for which the condition holds.
bool can_be_drawn(const Hyperparameter& parameter, const Condition& condition);

class Drawer {
 public:
  // Draws the parameters in `mutate`; the others keep their value in `base`. `stream` gives every
  // entry its own random sequence for the same seed.
  // Parameters with choices in the design take those instead of their ranges.
  Drawer(const Repository& repository, const std::vector<std::string>& mutate, Values base,
         uint64_t seed, uint64_t stream, const Design& design = {});

  // This combination will not be drawn.
  void forbid(const Values& values);

  // The next combination; nothing if all are taken.
  std::optional<Values> next();

  // `count` combinations as a Latin hypercube: each parameter's distribution is cut into `count`
  // parts of equal probability, and each part occurs once. A point that is taken or excluded is
  // replaced by a plain draw; `replaced` counts them. Fewer points if not enough are left.
  struct Hypercube {
    std::vector<Values> points;
    size_t replaced = 0;
  };
  Hypercube latin_hypercube(size_t count);

  // The number of combinations not yet taken; nothing if there are too many to enumerate. It stops
  // counting at `enough`: with rules it must look at each combination.
  std::optional<uint64_t> left(uint64_t enough = UINT64_MAX) const;

  // The number of combinations without rules and without what is taken, less the defaults if they
  // are never drawn. Nothing if there are too many to enumerate.
  std::optional<uint64_t> combinations_to_draw() const;

 private:
  // The values in the order of base_; they identify a combination. A number, or a text, or neither.
  using Key = std::tuple<int, double, int64_t, std::string>;
  using Combination = std::vector<Key>;
  Combination combination_of(const Values& values) const;
  bool taken(const Values& values) const { return taken_.contains(combination_of(values)); }
  bool is_free(const Values& values) const { return !rules_.excludes(values) && !taken(values); }
  bool in_space(const Values& values) const;
  std::optional<Values> first_free_from(uint64_t start) const;
  std::optional<uint64_t> combinations() const;
  Values combination(uint64_t index) const;

  std::vector<Hyperparameter> parameters_;
  Values base_;
  DesignRules rules_;
  uint64_t seed_;
  uint64_t stream_;
  uint64_t draws_ = 0;
  bool without_defaults_ = false;  // they are one of the combinations, and never drawn
  std::set<Combination> taken_;    // only combinations that could be drawn
};

}  // namespace plimsoll::experiment
