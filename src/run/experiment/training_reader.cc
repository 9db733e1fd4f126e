#include "experiment/training_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/nearest.h"

namespace plimsoll::experiment {
namespace {

using Kind = JsonNode::Kind;

std::string one_of(const std::string& word, const std::vector<std::string>& known) {
  if (known.empty()) return "; there is none";
  const auto meant = nearest(word, known);
  return meant ? fmt::format("; did you mean {}?", *meant)
               : fmt::format("; there are {}", fmt::join(known, ", "));
}

bool says_what_to_vary(const ObjectReader& object) {
  return object.has("mutate") || object.has("mutate_params") || object.has("num_mutations");
}

// The text of a key or of one of its old names.
std::optional<std::string> text_or_former(ObjectReader& object, const std::string& key,
                                          const std::vector<std::string>& spellings) {
  std::optional<std::string> text = object.text(key);
  for (const std::string& spelling : spellings) {
    const JsonNode* former = object.former(spelling, key);
    if (former != nullptr && former->is(Kind::text) && !text) text = former->text;
  }
  return text;
}

void add_fixed(const JsonNode* values, ObjectReader& object, Training& training) {
  if (values == nullptr) return;
  for (const JsonMember& member : values->members) {
    if (is_note(member.key)) {
      object.problems().count_note();
    } else if (member.value.is(Kind::number)) {
      Value value = member.value.number;
      value.whole = whole_of(value).has_value();
      training.fixed.set(member.key, value);
    } else if (!member.value.is(Kind::null)) {  // null: the training uses its own default
      object.error(member.line, fmt::format("the hyperparameter {} is {}; it must be a number",
                                            member.key, name(member.value.kind)));
    }
  }
}

std::vector<std::string> read_mutate(ObjectReader& object) {
  std::vector<std::string> names = object.texts("mutate").value_or(std::vector<std::string>{});
  const JsonNode* former = object.former("mutate_params", "mutate");
  if (former == nullptr || !names.empty()) return names;
  for (const JsonNode& item : former->items) {
    if (item.is(Kind::text)) names.push_back(item.text);
  }
  return names;
}

bool check_fixed(Training& training, const Repository& repository, const std::string& file,
                 size_t line, Problems& problems) {
  bool good = true;
  std::vector<std::string> known;
  for (const auto& parameter : repository.hyperparameters) known.push_back(parameter.name);
  for (auto& [name, value] : training.fixed.all) {
    const Hyperparameter* parameter = repository.find(name);
    if (parameter == nullptr) {
      problems.error(
          file, line,
          fmt::format("{} has no hyperparameter {}{}", repository.name, name, one_of(name, known)));
      good = false;
    } else if (parameter->whole && !value.whole) {
      problems.error(file, line,
                     fmt::format("{} is {}; it must be a 64-bit int", name, text_of(value)));
      good = false;
    } else {
      value.whole = parameter->whole;
    }
  }
  return good;
}

bool check_mutate(Training& training, const Repository& repository, const std::string& file,
                  size_t line, Problems& problems) {
  if (!training.mutation) return true;
  std::vector<std::string> known;
  for (const auto& parameter : repository.hyperparameters) {
    if (parameter.has_range) known.push_back(parameter.name);
  }
  auto& names = training.mutate;
  if (names.empty() || std::find(names.begin(), names.end(), "all") != names.end()) {
    names.clear();
    for (const std::string& name : known) {
      if (training.fixed.find(name) == nullptr) names.push_back(name);
    }
  }
  bool good = true;
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) {
      if (training.fixed.find(name) == nullptr) continue;
      problems.error(file, line, fmt::format("{} is both fixed and in mutate", name));
    } else {
      problems.error(file, line,
                     fmt::format("{} has no hyperparameter {} with a range{}", repository.name,
                                 name, one_of(name, known)));
    }
    good = false;
  }
  if (names.empty()) {
    problems.error(file, line, fmt::format("{} has nothing to mutate", repository.name));
    good = false;
  }
  return good;
}

}  // namespace

std::optional<Mode> read_mode(ObjectReader& object, Mode otherwise) {
  constexpr std::array kTypes = {"mutation_type", "experiment_type"};
  std::string said = object.text("mode").value_or("");
  if (said == "parallel") return Mode::parallel;  // the other keys are the foreground's
  if (said != "nonparallel") {
    said = text_or_former(object, "mode", {kTypes.begin(), kTypes.end()}).value_or("");
  } else {
    // "nonparallel" is mutation or default; other keys decide which of the two.
    object.warning(object.line_of("mode"),
                   "mode nonparallel is taken as mutation or default, depending on the other keys");
    said.clear();
    for (const char* key : kTypes) {
      const JsonNode* type = object.any(key);
      if (type != nullptr && type->is(Kind::text)) said = type->text;
    }
    if (said.empty()) {
      const bool sets = object.has("hyperparameters") || object.has("fixed_hyperparams");
      if (says_what_to_vary(object)) return Mode::mutation;
      return sets || object.has("baseline_runs") ? Mode::standard : otherwise;
    }
  }
  if (said.empty()) return otherwise;
  if (said == "mutation") return Mode::mutation;
  if (said == "default" || said == "baseline") return Mode::standard;
  if (said == "parallel") return Mode::parallel;  // by an old key
  object.error(object.line_of("mode"),
               fmt::format("mode is '{}'; it must be mutation, default or parallel", said));
  return std::nullopt;
}

std::optional<uint64_t> read_runs(ObjectReader& object) {
  auto runs = object.count("runs_per_config", 0);
  const JsonNode* former = object.former("num_mutations", "runs_per_config");
  return former == nullptr || runs ? runs : object.count("num_mutations", 0);
}

std::optional<Training> read_training(ObjectReader& object, Mode mode, const Catalog& catalog) {
  Training training{.mutation = mode == Mode::mutation};
  const auto repository = text_or_former(object, "repo", {"repository"});
  const auto model = object.text("model");
  training.mutate = read_mutate(object);
  add_fixed(object.object("hyperparameters"), object, training);
  add_fixed(object.former("fixed_hyperparams", "hyperparameters"), object, training);
  if (!repository) {
    object.error(object.node().line, "this entry has no repo");
    return std::nullopt;
  }
  training.repository = *repository;
  training.model = model.value_or("default");
  const size_t line = object.has("repo") ? object.line_of("repo") : object.node().line;
  if (!check_training(training, catalog, object.file(), line, object.problems())) {
    return std::nullopt;
  }
  return training;
}

bool check_training(Training& training, const Catalog& catalog, const std::string& file,
                    size_t line, Problems& problems) {
  const Repository* repository = catalog.find(training.repository);
  if (repository == nullptr) {
    problems.error(file, line,
                   fmt::format("there is no repo {} in {}{}", training.repository, catalog.file,
                               one_of(training.repository, catalog.names())));
    return false;
  }
  bool good = true;
  const auto& models = repository->models;
  if (std::find(models.begin(), models.end(), training.model) == models.end()) {
    problems.error(file, line,
                   fmt::format("{} has no model {}{}", repository->name, training.model,
                               one_of(training.model, models)));
    good = false;
  }
  good = check_fixed(training, *repository, file, line, problems) && good;
  return check_mutate(training, *repository, file, line, problems) && good;
}

}  // namespace plimsoll::experiment
