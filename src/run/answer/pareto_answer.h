// --pareto: which configurations no other beats in both of two figures.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "answer/configuration.h"

namespace plimsoll::answer {

struct ParetoAnswer {
  Aim first;                                // the metric
  Aim second;                               // what it costs
  std::vector<const Configuration*> front;  // from the cheapest on
  const Configuration* knee = nullptr;      // null if the front has no bend
  size_t beaten = 0;
  size_t without_figures = 0;  // a figure is missing
};

// The configurations must live as long as the answer. Throws Error{usage} if no configuration has
// both figures.
ParetoAnswer pareto_of(const Configurations& configurations, const Aim& first, const Aim& second);

std::string describe(const ParetoAnswer& answer, const Configurations& configurations,
                     size_t most_columns);
nlohmann::ordered_json to_json(const ParetoAnswer& answer);

}  // namespace plimsoll::answer
