// What all configurations together show. --pareto: which of them no other beats in both of two
// figures. --importance: which parameter explains the spread of a figure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "answer/configuration.h"
#include "answer/selection.h"
#include "statistics/hypothesis.h"

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

// Analysis of variance, one parameter at a time; the share is Hays' omega squared.
struct ParameterShare {
  std::string parameter;
  size_t runs = 0;    // that have it: a parameter with a condition is missing in others
  size_t values = 0;  // different ones
  std::optional<statistics::VarianceShare> share;
  std::optional<double> adjusted_p;  // by Holm, over the parameters
};

struct FigureImportance {
  std::string figure;
  size_t runs = 0;
  size_t stopped = 0;  // early: they are left out, because their figures are of fewer steps
  size_t failed = 0;
  std::vector<ParameterShare> shares;  // the largest first
  // The share that differs between runs of the same configuration; nothing without repeats.
  std::optional<double> noise;
};

// Throws Error{usage} if no parameter varies.
std::vector<FigureImportance> importance_of(const Configurations& configurations,
                                            const std::vector<std::string>& figures);

std::string describe(const std::vector<FigureImportance>& answer, size_t most_columns);
nlohmann::ordered_json to_json(const std::vector<FigureImportance>& answer);

}  // namespace plimsoll::answer
