#include "answer/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "answer/results_table.h"
#include "base/error.h"
#include "base/nearest.h"
#include "experiment/best.h"

namespace plimsoll::answer {
namespace {

using Relation = ResultCondition::Relation;

struct RelationSign {
  std::string_view sign;
  Relation relation;
};
// The longer ones first.
constexpr std::array<RelationSign, 7> kSigns = {{{"<=", Relation::at_most},
                                                 {">=", Relation::at_least},
                                                 {"!=", Relation::different},
                                                 {"==", Relation::equal},
                                                 {"<", Relation::less},
                                                 {">", Relation::more},
                                                 {"=", Relation::equal}}};

std::string_view trimmed_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

ResultCondition parse_condition(std::string_view text) {
  const size_t at = text.find_first_of("<>=!");
  for (const auto& [sign, relation] : kSigns) {
    if (at == std::string_view::npos || at == 0 || !text.substr(at).starts_with(sign)) continue;
    const auto value = trimmed_blanks(text.substr(at + sign.size()));
    if (value.empty()) break;
    return {.name = std::string(trimmed_blanks(text.substr(0, at))),
            .relation = relation,
            .text = std::string(value)};
  }
  fail(ErrorKind::usage,
       "'{}' is not a condition; write NAME=VALUE, with =, !=, <, <=, > or >=, and commas between "
       "several",
       text);
}

// The whole text as a number.
std::optional<double> number_of_text(const std::string& text) {
  const auto value = experiment::parse_value(text);
  if (!value) return std::nullopt;
  const bool whole =
      !text.empty() && text.find_first_not_of("0123456789+-.eEinfaINFA") == std::string::npos;
  return whole ? std::optional(value->number) : std::nullopt;
}

std::optional<std::string> text_in(const Configuration& one, const std::string& name) {
  if (const auto* value = one.values.find(name)) return experiment::text_of(*value);
  if (name == "repo" || name == "repository") return one.repository;
  if (name == "model") return one.model;
  if (name == "beside") return one.background;
  if (name == "n") return fmt::format("{}", one.succeeded);
  if (name == "#" || name == "configuration") return fmt::format("{}", one.number);
  const auto figure = one.figures.find(name == "time" ? kSeconds : name);
  if (figure == one.figures.end() || figure->second.numbers.empty()) return std::nullopt;
  return fmt::format("{}", figure->second.moments().mean);
}

template <typename T>
bool holds(Relation relation, const T& left, const T& right) {
  switch (relation) {
    case Relation::equal:
      return left == right;
    case Relation::different:
      return left != right;
    case Relation::less:
      return left < right;
    case Relation::at_most:
      return left <= right;
    case Relation::more:
      return left > right;
    case Relation::at_least:
      return left >= right;
  }
  return false;
}

}  // namespace

std::vector<ResultCondition> parse_conditions(std::string_view text, const Configurations& known) {
  std::vector<std::string> names = known.parameters;
  const auto figures = known.figures();
  names.insert(names.end(), figures.begin(), figures.end());
  for (const char* name : {"repo", "repository", "model", "beside", "n", "time", "configuration"}) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  }
  std::vector<ResultCondition> conditions;
  for (;;) {
    const size_t comma = text.find(',');
    ResultCondition one = parse_condition(text.substr(0, comma));
    if (std::find(names.begin(), names.end(), one.name) == names.end()) {
      refuse_nuisance(known, one.name, one.name);
      const auto near = nearest(one.name, names);
      fail(ErrorKind::usage, "there is no {} in these results{}; known: {}", one.name,
           near ? fmt::format("; did you mean {}?", *near) : "", fmt::join(names, ", "));
    }
    conditions.push_back(std::move(one));
    if (comma == std::string_view::npos) return conditions;
    text.remove_prefix(comma + 1);
  }
}

bool meets(const Configuration& one, const ResultCondition& condition) {
  const auto text = text_in(one, condition.name);
  if (!text) return condition.relation == Relation::different;
  const auto left = number_of_text(*text);
  const auto right = number_of_text(condition.text);
  if (left && right) return holds(condition.relation, *left, *right);
  return holds(condition.relation, *text, condition.text);
}

bool meets_all(const Configuration& one, const std::vector<ResultCondition>& conditions) {
  return std::ranges::all_of(
      conditions, [&](const ResultCondition& condition) { return meets(one, condition); });
}

namespace {

// Why no experiment has the figure, if more than its name is the reason.
std::string why_unknown(const Configurations& configurations, const std::string& figure) {
  if (configurations.succeeded == 0) {
    return fmt::format("; no experiment has succeeded ({})", describe_counts(configurations));
  }
  if (figure != kEnergy && figure != kCo2 && figure != kCost) return "";
  if (configurations.energy_parts.empty()) {
    const std::string note = energy_note(configurations);
    return note.empty() ? "; no successful run has an energy" : "\n" + note;
  }
  return figure == kCo2 ? "; CO2 needs --grams-per-kwh" : "; a cost needs --price";
}

}  // namespace

Aim aim_of(const Configurations& configurations, const std::string& text) {
  const std::vector<std::string> known = configurations.figures();
  const auto& objective = configurations.objective;
  const auto has = [&](const std::string& figure) {
    return std::find(known.begin(), known.end(), figure) != known.end();
  };
  const auto without_goal = [&](const std::string& figure) -> Aim {
    if (objective && objective->metric == figure) {
      return {figure, objective->maximize, Aim::Source::by_objective};
    }
    return {figure, !experiment::smaller_is_better(figure), Aim::Source::by_name};
  };
  if (text.empty()) {
    if (objective && has(objective->metric)) return without_goal(objective->metric);
    return without_goal(known.empty() ? kSeconds : known.front());
  }
  std::string figure = text;
  std::optional<bool> maximize;
  for (const auto& [ending, upwards] : {std::pair{":max", true}, std::pair{":min", false}}) {
    if (!figure.ends_with(ending)) continue;
    figure.resize(figure.size() - std::string_view(ending).size());
    maximize = upwards;
    break;
  }
  if (figure == "time") figure = kSeconds;
  if (!has(figure)) {
    const auto near = nearest(figure, known);
    fail(ErrorKind::usage, "no experiment has the figure {}{}; known: {}{}", figure,
         near ? fmt::format("; did you mean {}?", *near) : "",
         known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")),
         why_unknown(configurations, figure));
  }
  if (!maximize) return without_goal(figure);
  return {figure, *maximize, Aim::Source::by_user};
}

TwoAims two_aims(const Configurations& configurations, const std::vector<std::string>& names) {
  if (names.size() < 2) {
    const auto known = configurations.figures();
    const std::string given = names.empty() ? "" : names.front();
    const bool is_known = std::ranges::find(known, given) != known.end();
    const std::string first = is_known || known.empty() ? given : known.front();
    const auto second =
        std::ranges::find_if(known, [&](const std::string& figure) { return figure != first; });
    fail(ErrorKind::usage, "--pareto needs two figures, as in --pareto {} {}; known: {}", first,
         second == known.end() ? "energy" : *second, fmt::join(known, ", "));
  }
  TwoAims aims{.first = aim_of(configurations, names[0]),
               .second = aim_of(configurations, names[1])};
  if (aims.first.figure == aims.second.figure) {
    fail(ErrorKind::usage, "--pareto needs two different figures, not {} twice", aims.first.figure);
  }
  return aims;
}

std::string describe(const Aim& aim, std::string_view option) {
  std::string better = fmt::format("{} is better", aim.maximize ? "higher" : "lower");
  switch (aim.source) {
    case Aim::Source::by_user:
      return better;
    case Aim::Source::by_objective:
      return better + ", as the objective says";
    case Aim::Source::by_name:
      break;
  }
  return fmt::format("{}, judged by its name; if not: {}{}:{}", better, option,
                     aim.figure == kSeconds ? "time" : aim.figure, aim.maximize ? "min" : "max");
}

std::vector<std::string> figures_named(const Configurations& configurations,
                                       const std::vector<std::string>& names,
                                       std::vector<std::string> usual) {
  if (names.empty()) return usual;
  std::vector<std::string> figures;
  figures.reserve(names.size());
  for (const std::string& name : names) figures.push_back(aim_of(configurations, name).figure);
  return figures;
}

std::vector<std::string> aim_and_energy(const Configurations& configurations, const Aim& aim) {
  std::vector<std::string> figures = {aim.figure};
  const auto known = configurations.figures();
  const bool energy = std::find(known.begin(), known.end(), kEnergy) != known.end();
  if (energy && aim.figure != kEnergy) figures.emplace_back(kEnergy);
  return figures;
}

void sort_by(Configurations& configurations, const Aim& aim) {
  const auto key = [&](const Configuration& one) {
    const auto mean = mean_of(one, aim.figure);
    const double worth = aim.maximize ? -mean.value_or(0) : mean.value_or(0);
    return std::tuple(!mean, worth, one.number);
  };
  std::stable_sort(configurations.all.begin(), configurations.all.end(),
                   [&](const Configuration& a, const Configuration& b) { return key(a) < key(b); });
}

}  // namespace plimsoll::answer
