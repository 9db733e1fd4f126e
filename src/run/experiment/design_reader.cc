#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/nearest.h"
#include "experiment/entry_reader.h"

namespace plimsoll::experiment {
namespace {

using Kind = JsonNode::Kind;

const Hyperparameter* known_parameter(ObjectReader& object, const JsonMember& member,
                                      const Repository& repository) {
  const Hyperparameter* found = repository.find(member.key);
  if (found != nullptr) return found;
  std::vector<std::string> known;
  for (const Hyperparameter& parameter : repository.hyperparameters) {
    known.push_back(parameter.name);
  }
  const auto meant = nearest(member.key, known);
  object.error(member.line,
               fmt::format("{} has no hyperparameter {}{}", repository.name, member.key,
                           meant ? fmt::format("; did you mean {}?", *meant) : ""));
  return nullptr;
}

// One value, or each of a list.
std::vector<Value> read_values(ObjectReader& object, const JsonNode& node,
                               const Hyperparameter& parameter) {
  std::vector<Value> values;
  const auto add = [&](const JsonNode& item) {
    if (const auto value = value_for(parameter, item)) {
      values.push_back(*value);
      return;
    }
    std::string found = item.is(Kind::number) ? text_of(item.number) : std::string(name(item.kind));
    if (item.is(Kind::text) && parameter.type == Value::Type::number) {  // "0.01" looks like one
      found = fmt::format("the string \"{}\"", item.text);
    }
    object.error(item.line, fmt::format("{} is {}; it must be {}", parameter.name, found,
                                        type_name(parameter)));
  };
  if (!node.is(Kind::list)) {
    add(node);
    return values;
  }
  for (const JsonNode& item : node.items) add(item);
  return values;
}

std::vector<ParameterChoices> read_axes(ObjectReader& object, const std::string& key,
                                        const Repository* repository) {
  std::vector<ParameterChoices> axes;
  const JsonNode* node = object.object(key);
  if (node == nullptr || repository == nullptr) return axes;
  if (std::ranges::all_of(node->members, [](const auto& one) { return is_note(one.key); })) {
    object.error(node->line,
                 fmt::format("{} names no hyperparameter; it needs one with its values, as in "
                             "{{\"learning_rate\": [0.1, 0.01]}}",
                             key));
  }
  for (const JsonMember& member : node->members) {
    if (is_note(member.key)) {
      object.problems().count_note();
      continue;
    }
    const Hyperparameter* parameter = known_parameter(object, member, *repository);
    if (parameter == nullptr) continue;
    auto values = read_values(object, member.value, *parameter);
    for (size_t i = 1; i < values.size(); ++i) {
      if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) ==
          values.begin() + static_cast<std::ptrdiff_t>(i)) {
        continue;
      }
      object.error(member.line, fmt::format("{}: {} has the value {} twice", key, member.key,
                                            text_of(values[i])));
      break;
    }
    if (values.empty()) {
      object.error(member.line, fmt::format("{}: {} has no values", key, member.key));
    } else {
      axes.push_back({.parameter = member.key, .values = std::move(values)});
    }
  }
  return axes;
}

// Calls `take` for each object of a list, or for the one object.
template <typename Take>
void for_each_object(ObjectReader& object, const std::string& key, const Take& take) {
  const JsonNode* node = object.any(key);
  if (node == nullptr) return;
  if (node->is(Kind::object)) {
    take(*node);
    return;
  }
  if (!node->is(Kind::list)) {
    object.error(node->line,
                 fmt::format("{} is {}; it must be a list of objects", key, name(node->kind)));
    return;
  }
  for (const JsonNode& item : node->items) {
    if (item.is(Kind::object)) {
      take(item);
    } else {
      object.error(item.line,
                   fmt::format("{} contains {}; it must contain objects", key, name(item.kind)));
    }
  }
}

Values read_setting(ObjectReader& object, const JsonNode& node, const Repository& repository) {
  Values setting;
  for (const JsonMember& member : node.members) {
    if (is_note(member.key)) {
      object.problems().count_note();
      continue;
    }
    const Hyperparameter* parameter = known_parameter(object, member, repository);
    if (parameter == nullptr) continue;
    if (member.value.is(Kind::list)) {
      object.error(member.line, fmt::format("list: {} must be one value", member.key));
      continue;
    }
    for (const Value& value : read_values(object, member.value, *parameter)) {
      setting.set(member.key, value);
    }
  }
  return setting;
}

void read_only_if(ObjectReader& object, const Repository* repository, Design& design) {
  const JsonNode* node = object.object("only_if");
  if (node == nullptr || repository == nullptr) return;
  for (const JsonMember& member : node->members) {
    if (known_parameter(object, member, *repository) == nullptr) continue;
    if (!member.value.is(Kind::object)) {
      object.error(member.line,
                   fmt::format(R"(only_if: {} must be an object, as in {{"optimizer": "sgd"}})",
                               member.key));
      continue;
    }
    ObjectReader conditions(member.value, object.file(), object.problems());
    design.rules.only_if[member.key] = read_conditions(conditions, *repository);
  }
}

Condition read_condition(ObjectReader& object, const JsonMember& member,
                         const Hyperparameter& parameter) {
  Condition condition{.parameter = member.key, .any_of = {}, .least = {}, .most = {}};
  if (!member.value.is(Kind::object)) {
    condition.any_of = read_values(object, member.value, parameter);
    return condition;
  }
  for (const JsonMember& bound : member.value.members) {
    if (bound.key == "min" || bound.key == "max") continue;
    // Never a warning: without this bound, the condition would hold for more settings.
    object.error(bound.line,
                 fmt::format("{}: a condition has min and max, not {}", member.key, bound.key));
  }
  ObjectReader range(member.value, object.file(), object.problems());
  condition.least = range.number("min");
  condition.most = range.number("max");
  if (parameter.type != Value::Type::number || (!condition.least && !condition.most)) {
    object.error(member.line, fmt::format("{}: a condition is a value, a list of values, or, for a "
                                          "number, {{\"min\": ..., \"max\": ...}}",
                                          member.key));
  }
  return condition;
}

}  // namespace

Conditions read_conditions(ObjectReader& object, const Repository& repository) {
  Conditions conditions;
  for (const JsonMember& member : object.node().members) {
    if (is_note(member.key)) {
      object.problems().count_note();
      continue;
    }
    const Hyperparameter* parameter = known_parameter(object, member, repository);
    if (parameter != nullptr) conditions.push_back(read_condition(object, member, *parameter));
  }
  return conditions;
}

bool lists_settings(const ObjectReader& object) {
  return object.has("grid") || object.has("list") || object.has("choices") || object.has("design");
}

Design read_design(ObjectReader& object, const Repository* repository) {
  Design design;
  design.choices = read_axes(object, "choices", repository);
  design.grid = read_axes(object, "grid", repository);
  for_each_object(object, "list", [&](const JsonNode& node) {
    if (repository != nullptr) design.list.push_back(read_setting(object, node, *repository));
  });
  if (const JsonNode* list = object.any("list");
      list != nullptr && list->is(Kind::list) && list->items.empty()) {
    object.error(list->line, "list is empty; it needs a setting, as in [{\"learning_rate\": 0.1}]");
  }
  for_each_object(object, "exclude", [&](const JsonNode& node) {
    if (repository == nullptr) return;
    ObjectReader conditions(node, object.file(), object.problems());
    design.rules.exclude.push_back(read_conditions(conditions, *repository));
    if (!design.rules.exclude.back().empty()) return;
    design.rules.exclude.pop_back();
    object.error(node.line, "exclude: an object without a parameter would exclude everything");
  });
  if (repository != nullptr) design.rules.only_if = repository->conditions();
  read_only_if(object, repository, design);
  const auto named = object.text("design");
  constexpr std::array kNames = {"random", "lhs"};
  if (named && std::find(kNames.begin(), kNames.end(), *named) == kNames.end()) {
    object.error(object.line_of("design"),
                 fmt::format("design is '{}'; it must be random or lhs", *named));
  }
  if (named == "lhs") design.kind = Design::Kind::lhs;
  if (object.has("grid")) design.kind = Design::Kind::grid;
  if (object.has("list")) design.kind = Design::Kind::list;
  const bool draws = object.has("mutate") || object.has("mutate_params") || object.has("choices") ||
                     named.has_value();
  if ((object.has("grid") && object.has("list")) ||
      (draws && (object.has("grid") || object.has("list")))) {
    object.error(object.node().line,
                 "an entry has a grid, a list, or draws (mutate, choices, design); give one of "
                 "them");
  }
  return design;
}

}  // namespace plimsoll::experiment
