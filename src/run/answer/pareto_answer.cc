#include "answer/pareto_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "answer/results_table.h"
#include "answer/text_table.h"
#include "base/error.h"
#include "base/units.h"
#include "statistics/pareto.h"

namespace plimsoll::answer {
namespace {

std::optional<double> mean_of(const Configuration& one, const std::string& figure) {
  const auto found = one.figures.find(figure);
  if (found == one.figures.end() || found->second.numbers.empty()) return std::nullopt;
  return found->second.moments().mean;
}

}  // namespace

ParetoAnswer pareto_of(const Configurations& configurations, const Aim& first, const Aim& second) {
  ParetoAnswer answer{.first = first, .second = second, .front = {}};
  std::vector<statistics::Tradeoff> points;
  std::vector<const Configuration*> known;
  for (const Configuration& one : configurations.all) {
    const auto y = mean_of(one, first.figure);
    const auto x = mean_of(one, second.figure);
    if (!x || !y) {
      ++answer.without_figures;
      continue;
    }
    points.push_back({.x = second.maximize ? -*x : *x, .y = first.maximize ? -*y : *y});
    known.push_back(&one);
  }
  if (points.empty()) {
    fail(ErrorKind::usage, "--pareto: no configuration has both {} and {}", first.figure,
         second.figure);
  }
  const auto front = statistics::pareto_front(points);
  for (const size_t member : front.members) answer.front.push_back(known[member]);
  if (front.knee) answer.knee = known[*front.knee];
  answer.beaten = known.size() - answer.front.size();
  return answer;
}

std::string describe(const ParetoAnswer& answer, const Configurations& configurations,
                     size_t most_columns) {
  TextTable table;
  const FigureUnit first = unit_of(configurations, answer.first.figure);
  const FigureUnit second = unit_of(configurations, answer.second.figure);
  table.columns = {{"#", {}}, {first.heading, {}}, {second.heading, {}},
                   {"n", {}}, {"", {}, true},      {"configuration", {}, true, 1}};
  for (const Configuration* one : answer.front) {
    const std::vector<std::string> cells = {
        fmt::format("{}", one->number),
        spread_text(one->figures.at(answer.first.figure), first.divisor),
        spread_text(one->figures.at(answer.second.figure), second.divisor),
        fmt::format("{}", one->succeeded),
        one == answer.knee ? "knee" : "",
        short_name(configurations, *one)};
    for (size_t i = 0; i < cells.size(); ++i) table.columns[i].cells.push_back(cells[i]);
  }
  fit(table, most_columns);
  std::string text = text_of(table);
  text += fmt::format("{} {} on the front; it beats {}\n",
                      counted(answer.front.size(), "configuration"),
                      answer.front.size() == 1 ? "is" : "are", counted(answer.beaten, "other"));
  if (answer.without_figures > 0) {
    text += fmt::format("left out, a figure is missing: {}\n",
                        counted(answer.without_figures, "configuration"));
  }
  if (answer.knee == nullptr) text += "the front has no knee: it needs three points and a bend\n";
  for (const Aim* aim : {&answer.first, &answer.second}) {
    text += fmt::format("{}: {}\n", heading_of(*aim), describe(*aim, ""));
  }
  if (!table.left_out.empty()) {
    text += fmt::format("left out, the terminal has {} columns: {}\n", most_columns,
                        fmt::join(table.left_out, ", "));
  }
  return text + "the front is by means; --compare tests whether two of them differ\n";
}

nlohmann::ordered_json to_json(const ParetoAnswer& answer) {
  auto front = nlohmann::ordered_json::array();
  for (const Configuration* one : answer.front) {
    front.push_back({{"configuration", one->number},
                     {"repository", one->repository},
                     {"model", one->model},
                     {"background", one->background},
                     {"hyperparameters", experiment::plain_json(one->values)},
                     {answer.first.figure, *mean_of(*one, answer.first.figure)},
                     {answer.second.figure, *mean_of(*one, answer.second.figure)},
                     {"knee", one == answer.knee}});
  }
  return {{"front", front},
          {"maximize",
           {{answer.first.figure, answer.first.maximize},
            {answer.second.figure, answer.second.maximize}}},
          {"beaten", answer.beaten}};
}

}  // namespace plimsoll::answer
