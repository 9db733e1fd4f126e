#include "answer/condition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/nearest.h"

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

}  // namespace plimsoll::answer
