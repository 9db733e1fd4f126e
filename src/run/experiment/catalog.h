// The model config: which trainings there are, how each is started, and what can be varied.
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
  std::vector<std::string> script;  // words
  std::vector<std::string> models;
  std::string model_flag;
  std::vector<std::string> required_words;
  std::vector<Hyperparameter> hyperparameters;
  std::vector<MetricPattern> metrics;
  Terms terms;
  size_t line = 0;

  const Hyperparameter* find(std::string_view parameter) const;
  // Those that have a default.
  Values defaults() const;
};

struct Catalog {
  std::string file;
  std::vector<Repository> repositories;

  const Repository* find(std::string_view name) const;
  std::vector<std::string> names() const;
};

Catalog read_catalog(std::string_view text, const std::string& file, Problems& problems);

// As a shell would without expanding anything: blanks, '...', "..." and backslashes.
std::vector<std::string> split_words(std::string_view text);

// A word as a shell reads it back: quoted where it needs that.
std::string shell_word(const std::string& word);

// The words of the training's command, to be run in the repository's folder.
std::vector<std::string> training_command(const Repository& repository, const std::string& model,
                                          const Values& values);

}  // namespace plimsoll::experiment
