#include "experiment/design.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/random.h"

namespace plimsoll::experiment {

bool holds(const Condition& condition, const Values& values) {
  const Value* value = values.find(condition.parameter);
  if (value == nullptr) return false;
  const auto& any_of = condition.any_of;
  if (std::find(any_of.begin(), any_of.end(), *value) != any_of.end()) return true;
  if (!condition.least && !condition.most) return false;
  return value->type == Value::Type::number &&
         (!condition.least || value->number >= *condition.least) &&
         (!condition.most || value->number <= *condition.most);
}

std::string describe(const Condition& condition) {
  std::vector<std::string> texts;
  texts.reserve(condition.any_of.size() + 2);
  for (const Value& value : condition.any_of) texts.push_back(text_of(value));
  std::string text = fmt::format("{}", fmt::join(texts, " or "));
  texts.clear();
  if (condition.least) texts.push_back(fmt::format("at least {}", *condition.least));
  if (condition.most) texts.push_back(fmt::format("at most {}", *condition.most));
  return fmt::format("{} {}{}", condition.parameter, text, fmt::join(texts, " and "));
}

std::string describe(const Conditions& conditions) {
  std::vector<std::string> texts;
  texts.reserve(conditions.size());
  for (const Condition& condition : conditions) texts.push_back(describe(condition));
  return fmt::format("{}", fmt::join(texts, " and "));
}

bool holds(const Conditions& conditions, const Values& values) {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const Condition& condition) { return holds(condition, values); });
}

bool DesignRules::excludes(const Values& values) const {
  return std::any_of(exclude.begin(), exclude.end(),
                     [&](const Conditions& conditions) { return holds(conditions, values); });
}

Values DesignRules::settled(Values values) const {
  const auto has_no_place = [&](const Values::Named& named) {
    const auto found = only_if.find(named.name);
    return found != only_if.end() && !holds(found->second, values);
  };
  for (;;) {  // a removed parameter may be the condition of another
    const auto found = std::find_if(values.all.begin(), values.all.end(), has_no_place);
    if (found == values.all.end()) return values;
    values.all.erase(found);
  }
}

std::string_view name(Design::Kind kind) {
  switch (kind) {
    case Design::Kind::draws:
      return "mutation";
    case Design::Kind::lhs:
      return "lhs";
    case Design::Kind::grid:
      return "grid";
    case Design::Kind::list:
      return "list";
  }
  return "";
}

std::optional<uint64_t> grid_size(const std::vector<ParameterChoices>& grid, uint64_t most) {
  uint64_t size = 1;
  for (const ParameterChoices& axis : grid) {
    if (axis.values.empty() || size > most / axis.values.size()) return std::nullopt;
    size *= axis.values.size();
  }
  return size;
}

std::vector<Values> grid_settings(const std::vector<ParameterChoices>& grid, const Values& base) {
  std::vector<Values> settings = {base};
  for (const ParameterChoices& axis : grid) {
    std::vector<Values> wider;
    wider.reserve(settings.size() * axis.values.size());
    for (const Values& setting : settings) {
      for (const Value& value : axis.values) {
        wider.push_back(setting);
        wider.back().set(axis.parameter, value);
      }
    }
    settings = std::move(wider);
  }
  return settings;
}

bool Design::lists(std::string_view parameter) const {
  const auto in_grid = [&](const ParameterChoices& one) { return one.parameter == parameter; };
  const auto in_list = [&](const Values& one) { return one.find(parameter) != nullptr; };
  return (kind == Kind::grid && std::ranges::any_of(grid, in_grid)) ||
         (kind == Kind::list && std::ranges::any_of(list, in_list));
}

std::vector<size_t> shuffled(size_t size, uint64_t seed, uint64_t stream) {
  const RandomStream random(seed, stream);
  std::vector<size_t> places(size);
  std::iota(places.begin(), places.end(), size_t{0});
  for (size_t i = size; i > 1; --i) std::swap(places[i - 1], places[below(random.at(i), i)]);
  return places;
}

std::vector<size_t> drawn_places(size_t size, size_t count, uint64_t seed, uint64_t stream) {
  std::vector<size_t> places = shuffled(size, seed, stream);
  places.resize(std::min(size, count));
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace plimsoll::experiment
