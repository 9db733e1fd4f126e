#include "answer/exploration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "answer/results_table.h"
#include "answer/text_table.h"
#include "base/error.h"
#include "base/units.h"
#include "statistics/hypothesis.h"
#include "statistics/pareto.h"

namespace plimsoll::answer {
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
    text += fmt::format("{}: {}\n", heading_of(aim->figure), describe(*aim, ""));
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

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostRanges = 4;

// One run: the figure, and the configuration that it belongs to.
struct RunValue {
  double number = 0;
  const Configuration* configuration = nullptr;
};

// Whether the run has a value of it. A parameter with a condition has none in some of the runs.
bool has_value(const Configurations& configurations, const RunValue& run,
               const std::string& parameter) {
  return std::ranges::find(configurations.parameters, parameter) ==
             configurations.parameters.end() ||
         run.configuration->values.find(parameter) != nullptr;
}

// Of runs that have the parameter: numbers by their size, words by their place in the alphabet.
// Words are never put together.
std::vector<size_t> groups_by(const Configurations& configurations,
                              const std::vector<RunValue>& runs, const std::string& parameter,
                              size_t& different) {
  const auto text_of_run = [&](const RunValue& run) {
    return named_text(configurations, *run.configuration, parameter);
  };
  std::set<std::string> words;
  std::vector<double> numbers;
  for (const RunValue& run : runs) {
    words.insert(text_of_run(run));
    const auto* value = run.configuration->values.find(parameter);
    if (value != nullptr && value->is_number()) numbers.push_back(value->number);
  }
  different = words.size();
  if (numbers.size() == runs.size() && std::set(numbers.begin(), numbers.end()).size() > 1) {
    // By value if there are two runs of each on average, otherwise by range.
    const auto ranges = std::clamp<size_t>(
        static_cast<size_t>(std::sqrt(static_cast<double>(runs.size()))), 2, kMostRanges);
    return statistics::grouped(numbers, 2 * different <= runs.size() ? different : ranges);
  }
  std::vector<size_t> groups;
  groups.reserve(runs.size());
  for (const RunValue& run : runs) {
    groups.push_back(
        static_cast<size_t>(std::distance(words.begin(), words.find(text_of_run(run)))));
  }
  return groups;
}

// Among the runs that have the parameter. As a group of their own, the others would add the effect
// of the parameter that the condition is about.
ParameterShare share_of(const Configurations& configurations, const std::vector<RunValue>& runs,
                        const std::string& parameter) {
  std::vector<RunValue> with_value;
  std::vector<double> numbers;
  for (const RunValue& run : runs) {
    if (!has_value(configurations, run, parameter)) continue;
    with_value.push_back(run);
    numbers.push_back(run.number);
  }
  ParameterShare one{.parameter = parameter, .runs = numbers.size()};
  const auto groups = groups_by(configurations, with_value, parameter, one.values);
  one.share = statistics::variance_share(numbers, groups);
  return one;
}

std::optional<double> noise_in(const std::vector<RunValue>& runs,
                               const std::vector<double>& numbers) {
  std::vector<size_t> groups;
  groups.reserve(runs.size());
  for (const RunValue& run : runs) groups.push_back(run.configuration->number);
  const auto share = statistics::variance_share(numbers, groups);
  return share ? std::optional(1 - share->omega_squared) : std::nullopt;
}

FigureImportance importance_of_figure(const Configurations& configurations,
                                      const std::string& figure,
                                      const std::vector<std::string>& parameters) {
  FigureImportance answer{.figure = figure};
  std::vector<RunValue> runs;
  std::vector<double> numbers;
  for (const Configuration& one : configurations.all) {
    answer.stopped += one.stopped;
    answer.failed += one.runs - one.succeeded - one.stopped;
    const auto found = one.figures.find(figure);
    if (found == one.figures.end()) continue;
    for (const double number : found->second.numbers) {
      runs.push_back({.number = number, .configuration = &one});
      numbers.push_back(number);
    }
  }
  answer.runs = runs.size();
  std::vector<double> p;
  for (const std::string& parameter : parameters) {
    ParameterShare one = share_of(configurations, runs, parameter);
    if (one.share) p.push_back(one.share->p);
    answer.shares.push_back(std::move(one));
  }
  const auto adjusted = statistics::holm_adjusted(p);
  auto next = adjusted.begin();
  for (ParameterShare& one : answer.shares) {
    if (one.share) one.adjusted_p = *next++;
  }
  std::ranges::stable_sort(answer.shares, [](const ParameterShare& a, const ParameterShare& b) {
    const auto key = [](const ParameterShare& one) {
      return one.share ? one.share->omega_squared : -1;
    };
    return key(a) > key(b);
  });
  answer.noise = noise_in(runs, numbers);
  return answer;
}

}  // namespace

std::vector<FigureImportance> importance_of(const Configurations& configurations,
                                            const std::vector<std::string>& figures) {
  std::vector<std::string> parameters = varying_parameters(configurations);
  for (const char* other : {"training", "beside"}) {
    const auto text = [&](const Configuration& one) {
      return named_text(configurations, one, other);
    };
    const std::string first = text(configurations.all.front());
    const bool varies = std::ranges::any_of(
        configurations.all, [&](const Configuration& one) { return text(one) != first; });
    const bool is_there = std::ranges::find(parameters, other) != parameters.end();
    if (varies && !is_there) parameters.emplace_back(other);
  }
  if (parameters.empty()) {
    fail(ErrorKind::usage,
         "--importance: all experiments have the same values; it needs parameters that vary");
  }
  std::vector<FigureImportance> all;
  all.reserve(figures.size());
  for (const std::string& figure : figures) {
    all.push_back(importance_of_figure(configurations, figure, parameters));
  }
  return all;
}

std::string describe(const std::vector<FigureImportance>& answer, size_t most_columns) {
  std::string text;
  for (const FigureImportance& figure : answer) {
    TextTable table;
    table.columns = {{"parameter", {}, true},
                     {"share", {}},
                     {"p", {}},
                     {"values", {}, false, 1},
                     {"groups", {}, false, 2}};
    for (const ParameterShare& one : figure.shares) {
      const std::vector<std::string> cells = {
          one.parameter, one.share ? format_percent(one.share->omega_squared) : "unknown",
          one.adjusted_p
              ? (*one.adjusted_p < 0.0001 ? "< 0.0001" : fmt::format("{:.2g}", *one.adjusted_p))
              : "-",
          fmt::format("{}", one.values), one.share ? fmt::format("{}", one.share->groups) : "-"};
      for (size_t i = 0; i < cells.size(); ++i) table.columns[i].cells.push_back(cells[i]);
    }
    fit(table, most_columns);
    text += fmt::format("{}: share of its variance over {}\n{}", figure.figure,
                        counted(figure.runs, "run"), text_of(table));
    for (const ParameterShare& one : figure.shares) {
      if (one.runs == figure.runs) continue;
      text += fmt::format("{}: only over {} that {} it\n", one.parameter, counted(one.runs, "run"),
                          one.runs == 1 ? "has" : "have");
    }
    if (figure.stopped + figure.failed > 0) {
      text +=
          fmt::format("left out: {}{}{}\n",
                      figure.stopped > 0 ? counted(figure.stopped, "run") + " stopped early" : "",
                      figure.stopped > 0 && figure.failed > 0 ? ", " : "",
                      figure.failed > 0 ? counted(figure.failed, "failed run") : "");
    }
    text += figure.noise ? fmt::format("between repeats of the same configuration (noise): {}\n\n",
                                       format_percent(*figure.noise))
                         : "no configuration was repeated, so the noise is unknown\n\n";
  }
  return text +
         "share: Hays' omega squared, by analysis of variance of one parameter at a time; many "
         "different\nvalues are put into ranges. Effects of combinations are in no share. p: F "
         "test, adjusted by Holm.\n";
}

nlohmann::ordered_json to_json(const std::vector<FigureImportance>& answer) {
  Json all = Json::array();
  const auto known = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  for (const FigureImportance& figure : answer) {
    Json shares = Json::array();
    for (const ParameterShare& one : figure.shares) {
      const bool infinite = one.share && !std::isfinite(one.share->f);
      shares.push_back(
          {{"parameter", one.parameter},
           {"omega_squared", one.share ? Json(one.share->omega_squared) : Json(nullptr)},
           {"f", one.share && !infinite ? Json(one.share->f) : Json(nullptr)},
           {"holm_p", known(one.adjusted_p)},
           {"runs", one.runs},
           {"values", one.values},
           {"groups", one.share ? one.share->groups : 0}});
    }
    all.push_back({{"figure", figure.figure},
                   {"runs", figure.runs},
                   {"stopped_early", figure.stopped},
                   {"failed", figure.failed},
                   {"method", "one-way analysis of variance, omega squared"},
                   {"parameters", shares},
                   {"noise", known(figure.noise)}});
  }
  return all;
}

}  // namespace plimsoll::answer
