#include "experiment/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiment/entry_reader.h"
#include "experiment/json_reader.h"

namespace plimsoll::experiment {
namespace {

using Kind = JsonNode::Kind;

// Names under which trainings take a seed.
bool is_seed(std::string_view name) {
  return name == "seed" || name == "random_seed" || name == "manual_seed" || name == "random_state";
}

void read_range(ObjectReader& object, Hyperparameter& parameter) {
  const JsonNode* range = object.list("range");
  if (range == nullptr) return;
  if (parameter.type != Value::Type::number) {
    object.error(range->line, fmt::format("{}: only an int or a float has a range; list its values "
                                          "as `choices`",
                                          parameter.name));
    return;
  }
  const auto& items = range->items;
  if (items.size() != 2 || !items[0].is(Kind::number) || !items[1].is(Kind::number)) {
    object.error(range->line, fmt::format("{}: range must be two numbers", parameter.name));
    return;
  }
  parameter.low = items[0].number;
  parameter.high = items[1].number;
  if (parameter.low > parameter.high) {
    object.error(range->line,
                 fmt::format("{}: range [{}, {}] is empty: the first is larger", parameter.name,
                             text_of(parameter.low), text_of(parameter.high)));
  } else if (parameter.log_uniform && parameter.low.number <= 0) {
    object.error(range->line, fmt::format("{}: a log_uniform range must begin above 0, not at {}",
                                          parameter.name, text_of(parameter.low)));
  } else if (parameter.whole && !(whole_of(parameter.low) && whole_of(parameter.high))) {
    object.error(range->line, fmt::format("{}: the range of an int must be 64-bit whole numbers",
                                          parameter.name));
  } else {
    parameter.has_range = true;
  }
}

void read_default(ObjectReader& object, Hyperparameter& parameter) {
  const JsonNode* value = object.any("default");
  if (value == nullptr || value->is(Kind::null)) return;
  parameter.default_value = value_for(parameter, *value);
  if (parameter.default_value) return;
  object.error(value->line,
               value->is(Kind::number)
                   ? fmt::format("{}: default {} is not {}", parameter.name, text_of(value->number),
                                 type_name(parameter))
                   : fmt::format("{}: default is {}; it must be {} or null", parameter.name,
                                 name(value->kind), type_name(parameter)));
}

void read_type(ObjectReader& object, Hyperparameter& parameter) {
  const std::string type = object.text("type").value_or("float");
  parameter.whole = type == "int";
  parameter.is_switch = type == "switch";
  if (parameter.is_switch || type == "bool") {
    parameter.type = Value::Type::boolean;
  } else if (type == "text") {
    parameter.type = Value::Type::text;
  } else if (type != "int" && type != "float") {
    object.error(object.line_of("type"),
                 fmt::format("{}: type is '{}'; it must be int, float, text, bool or switch",
                             parameter.name, type));
  }
}

void read_choices(ObjectReader& object, Hyperparameter& parameter) {
  const JsonNode* choices = object.list("choices");
  if (choices == nullptr) return;
  if (object.has("range")) {
    object.error(choices->line,
                 fmt::format("{} has choices and a range; give one of them", parameter.name));
  }
  for (const JsonNode& item : choices->items) {
    const auto value = value_for(parameter, item);
    if (value) {
      parameter.choices.push_back(*value);
    } else {
      object.error(item.line, fmt::format("{}: choices contains {}; it must contain {}",
                                          parameter.name, name(item.kind), type_name(parameter)));
    }
  }
}

Hyperparameter read_hyperparameter(const JsonMember& member, ObjectReader& parent) {
  Hyperparameter parameter{.name = member.key};
  if (!member.value.is(Kind::object)) {
    parent.error(member.line, fmt::format("{} is {}; it must be an object", member.key,
                                          name(member.value.kind)));
    return parameter;
  }
  ObjectReader object(member.value, parent.file(), parent.problems());
  const auto flag = object.text("flag");
  if (!flag) object.error(member.line, fmt::format("{} has no flag", member.key));
  parameter.flag = flag.value_or("");
  read_type(object, parameter);
  const std::string distribution = object.text("distribution").value_or("uniform");
  parameter.log_uniform = distribution == "log_uniform";
  if (distribution != "uniform" && distribution != "log_uniform") {
    object.error(object.line_of("distribution"),
                 fmt::format("{}: distribution is '{}'; it must be uniform or log_uniform",
                             member.key, distribution));
  }
  read_default(object, parameter);
  read_range(object, parameter);
  read_choices(object, parameter);
  parameter.nuisance = object.boolean("nuisance").value_or(is_seed(parameter.name));
  parameter.zero_probability = object.number("zero_probability").value_or(0);
  if (parameter.zero_probability < 0 || parameter.zero_probability > 1) {
    object.error(object.line_of("zero_probability"),
                 fmt::format("{}: zero_probability must be between 0 and 1", member.key));
  }
  object.object("only_if");  // read when all parameters are known
  object.finish(member.key);
  return parameter;
}

// A condition may name a parameter that comes later in the file.
void read_all_conditions(const JsonNode& parameters, ObjectReader& object, Repository& made) {
  for (Hyperparameter& parameter : made.hyperparameters) {
    const JsonNode* own = parameters.find(parameter.name);
    const JsonNode* conditions = own == nullptr ? nullptr : own->find("only_if");
    if (conditions == nullptr || !conditions->is(Kind::object)) continue;
    ObjectReader reader(*conditions, object.file(), object.problems());
    parameter.only_if = read_conditions(reader, made);
  }
}

void read_metrics(ObjectReader& repository, Repository& made) {
  const JsonNode* metrics = repository.object("performance_metrics");
  if (metrics == nullptr) return;
  ObjectReader object(*metrics, repository.file(), repository.problems());
  if (const JsonNode* patterns = object.object("log_patterns")) {
    for (const JsonMember& member : patterns->members) {
      if (!member.value.is(Kind::text)) {
        object.error(member.line, fmt::format("the pattern of {} must be a string", member.key));
      } else if (const auto obstacle = obstacle_of_pattern(member.value.text)) {
        object.error(member.line, fmt::format("the pattern of {} {}: '{}'", member.key, *obstacle,
                                              member.value.text));
      } else if (!has_group(member.value.text)) {
        object.error(member.line,
                     fmt::format("the pattern of {} has no group that says where the number is; "
                                 "write it like \"{}: ([0-9.]+)\"",
                                 member.key, member.key));
      } else {
        made.metrics.push_back({.name = member.key, .pattern = member.value.text});
      }
    }
  }
  object.finish("performance_metrics");
}

void read_words(ObjectReader& object, Repository& made) {
  const JsonNode* required = object.object("required_args");
  if (required == nullptr) return;
  for (const JsonMember& member : required->members) {
    if (!member.value.is(Kind::text)) {
      object.error(member.line, fmt::format("required_args: {} must be a string", member.key));
      continue;
    }
    for (std::string& word : split_words(member.value.text)) {
      made.required_words.push_back(std::move(word));
    }
  }
}

Repository read_repository(const JsonMember& member, const std::string& file, Problems& problems) {
  Repository made{.name = member.key, .line = member.line};
  ObjectReader object(member.value, file, problems);
  made.path = object.text("path").value_or("");
  if (made.path.empty()) object.error(member.line, fmt::format("{} has no path", member.key));
  made.script = split_words(object.text("train_script").value_or(""));
  if (made.script.empty()) {
    object.error(member.line, fmt::format("{} has no train_script", member.key));
  }
  made.models = object.texts("models").value_or(std::vector<std::string>{"default"});
  if (const JsonNode* flag = object.any("model_flag"); flag != nullptr && flag->is(Kind::text)) {
    made.model_flag = flag->text;
  }
  read_words(object, made);
  if (const JsonNode* parameters = object.object("supported_hyperparams")) {
    for (const JsonMember& parameter : parameters->members) {
      if (is_note(parameter.key)) {
        problems.count_note();
      } else {
        made.hyperparameters.push_back(read_hyperparameter(parameter, object));
      }
    }
    read_all_conditions(*parameters, object, made);
  }
  read_metrics(object, made);
  made.terms = read_terms(object);
  if (made.terms.expect) {
    for (std::string& text : metrics_without_pattern(*made.terms.expect, made.metrics)) {
      object.error(object.line_of("expect"), std::move(text));
    }
  }
  object.finish(fmt::format("the model config of {}", member.key));
  return made;
}

}  // namespace

const Hyperparameter* Repository::find(std::string_view parameter) const {
  const auto found =
      std::find_if(hyperparameters.begin(), hyperparameters.end(),
                   [&](const Hyperparameter& candidate) { return candidate.name == parameter; });
  return found == hyperparameters.end() ? nullptr : &*found;
}

Values Repository::defaults() const {
  return DesignRules{.exclude = {}, .only_if = conditions()}.settled(all_defaults());
}

Values Repository::all_defaults() const {
  Values values;
  for (const Hyperparameter& parameter : hyperparameters) {
    if (parameter.default_value) values.set(parameter.name, *parameter.default_value);
  }
  return values;
}

std::map<std::string, Conditions> Repository::conditions() const {
  std::map<std::string, Conditions> all;
  for (const Hyperparameter& parameter : hyperparameters) {
    if (!parameter.only_if.empty()) all[parameter.name] = parameter.only_if;
  }
  return all;
}

std::optional<Value> value_for(const Hyperparameter& parameter, Value value) {
  if (parameter.type == Value::Type::text) {
    // A number is a text, too: `"depth": 18` of a parameter that also has "18b".
    return value.type == Value::Type::boolean ? std::nullopt
                                              : std::optional(text_value(text_of(value)));
  }
  if (value.type != parameter.type) return std::nullopt;
  if (parameter.whole && !whole_of(value)) return std::nullopt;
  value.whole = parameter.whole;
  return value;
}

std::optional<Value> value_for(const Hyperparameter& parameter, const JsonNode& node) {
  switch (node.kind) {
    case Kind::number: {
      Value value = node.number;
      value.whole = whole_of(value).has_value();
      return value_for(parameter, std::move(value));
    }
    case Kind::text:
      return value_for(parameter, text_value(node.text));
    case Kind::boolean:
      return value_for(parameter, truth_value(node.boolean));
    default:
      return std::nullopt;
  }
}

std::string_view type_name(const Hyperparameter& parameter) {
  switch (parameter.type) {
    case Value::Type::number:
      return parameter.whole ? "a 64-bit int" : "a number";
    case Value::Type::text:
      return "a string";
    case Value::Type::boolean:
      return "true or false";
  }
  return "";
}

const Repository* Catalog::find(std::string_view name) const {
  const auto found =
      std::find_if(repositories.begin(), repositories.end(),
                   [&](const Repository& candidate) { return candidate.name == name; });
  return found == repositories.end() ? nullptr : &*found;
}

std::vector<std::string> Catalog::names() const {
  std::vector<std::string> names;
  for (const Repository& repository : repositories) names.push_back(repository.name);
  return names;
}

Catalog read_catalog(std::string_view text, const std::string& file, Problems& problems) {
  Catalog catalog{.file = file};
  const JsonNode root = parse_json(text, file);
  ObjectReader object(root, file, problems);
  const JsonNode* models = object.object("models");
  if (models == nullptr) {
    problems.error(file, root.line, "it has no object `models`, so it is not a model config");
    return catalog;
  }
  for (const JsonMember& member : models->members) {
    if (member.value.is(Kind::object)) {
      catalog.repositories.push_back(read_repository(member, file, problems));
    } else if (is_note(member.key)) {
      problems.count_note();
    } else {
      problems.error(
          file, member.line,
          fmt::format("{} is {}; it must be an object", member.key, name(member.value.kind)));
    }
  }
  object.finish("the model config");
  return catalog;
}

void add_new(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      inside = true;
    } else if (quote != 0) {
      c == quote ? quote = 0 : (word += c, 0);
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (inside) words.push_back(std::move(word));
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) words.push_back(std::move(word));
  return words;
}

std::vector<std::string> training_command(const Repository& repository, const std::string& model,
                                          const Values& values) {
  std::vector<std::string> words = repository.script;
  if (model != "default" && !repository.model_flag.empty()) {
    words.push_back(repository.model_flag);
    words.push_back(model);
  }
  words.insert(words.end(), repository.required_words.begin(), repository.required_words.end());
  for (const Hyperparameter& parameter : repository.hyperparameters) {
    const Value* value = values.find(parameter.name);
    if (value == nullptr || (parameter.is_switch && value->number == 0)) continue;
    words.push_back(parameter.flag);
    if (!parameter.is_switch) words.push_back(text_of(*value));
  }
  return words;
}

}  // namespace plimsoll::experiment
