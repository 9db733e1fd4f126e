// The model config: which trainings exist, how to start them, and which hyperparameters can vary.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/json_reader.h"
#include "experiment/metrics.h"
#include "experiment/terms.h"
#include "experiment/values.h"

namespace plimsoll::experiment {

struct Hyperparameter {
  std::string name;
  std::string flag;
  bool whole = false;
  std::optional<Value> default_value;
  bool has_range = false;
  Value low;
  Value high;
  bool log_uniform = false;
  double zero_probability = 0;
};

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
  // The hyperparameters that have a default.
  Values defaults() const;
};

struct Catalog {
  std::string file;
  std::vector<Repository> repositories;

  const Repository* find(std::string_view name) const;
  std::vector<std::string> names() const;
};

Catalog read_catalog(std::string_view text, const std::string& file, Problems& problems);

// Splits like a shell, without any expansion: at blanks, with '...', "..." and backslashes.
std::vector<std::string> split_words(std::string_view text);

// The words of the training's command. Run it in the repository's folder.
std::vector<std::string> training_command(const Repository& repository, const std::string& model,
                                          const Values& values);

}  // namespace plimsoll::experiment
