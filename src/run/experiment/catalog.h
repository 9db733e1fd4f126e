// The model config: which trainings exist, how to start them, and which hyperparameters can vary.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/design.h"
#include "experiment/json_reader.h"
#include "experiment/metrics.h"
#include "experiment/terms.h"
#include "experiment/values.h"

namespace plimsoll::experiment {

struct Hyperparameter {
  std::string name;
  std::string flag;
  bool whole = false;
  Value::Type type = Value::Type::number;
  bool is_switch = false;  // the flag alone if it is true, nothing if it is false
  std::optional<Value> default_value;
  std::vector<Value> choices;  // to draw from, instead of a range
  Conditions only_if;          // it has a value only if these hold
  bool nuisance = false;       // like a seed: it makes repeats differ, but is no setting
  bool has_range = false;
  Value low;
  Value high;
  bool log_uniform = false;
  double zero_probability = 0;

  bool varies() const { return has_range || !choices.empty(); }
};

// The value as the parameter's type requires it; nothing if the JSON value is none.
std::optional<Value> value_for(const Hyperparameter& parameter, const JsonNode& node);
std::optional<Value> value_for(const Hyperparameter& parameter, Value value);
std::string_view type_name(const Hyperparameter& parameter);  // "a 64-bit int"

struct Repository {
  std::string name;
  std::filesystem::path path;       // as written
  std::vector<std::string> script;  // the command's first words
  std::vector<std::string> models;
  std::string model_flag;
  std::vector<std::string> required_words;
  std::vector<Hyperparameter> hyperparameters;
  std::vector<MetricPattern> metrics;
  Terms terms;
  size_t line = 0;

  const Hyperparameter* find(std::string_view parameter) const;
  // The hyperparameters that have a default; of defaults() only those whose conditions hold.
  Values all_defaults() const;
  Values defaults() const;
  // The conditions of all hyperparameters that have some.
  std::map<std::string, Conditions> conditions() const;
};

struct Catalog {
  std::string file;
  std::vector<Repository> repositories;

  const Repository* find(std::string_view name) const;
  std::vector<std::string> names() const;
};

// Adds the name at the end, unless it is there already.
void add_new(std::vector<std::string>& names, const std::string& name);

Catalog read_catalog(std::string_view text, const std::string& file, Problems& problems);

// Splits like a shell, without any expansion: at blanks, with '...', "..." and backslashes.
std::vector<std::string> split_words(std::string_view text);

// The words of the training's command. Run it in the repository's folder.
std::vector<std::string> training_command(const Repository& repository, const std::string& model,
                                          const Values& values);

}  // namespace plimsoll::experiment
