#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "base/nearest.h"
#include "experiment/entry_reader.h"

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
    const JsonNode* former = object.former(spelling, key, Kind::text);
    if (former != nullptr && !text) text = former->text;
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
    } else if (member.value.is(Kind::text)) {
      training.fixed.set(member.key, text_value(member.value.text));
    } else if (member.value.is(Kind::boolean)) {
      training.fixed.set(member.key, truth_value(member.value.boolean));
    } else if (!member.value.is(Kind::null)) {  // null: the training uses its own default
      object.error(member.line,
                   fmt::format("the hyperparameter {} is {}; it must be one value; a grid, a list "
                               "or choices take several",
                               member.key, name(member.value.kind)));
    }
  }
}

// A list of names, or a text: ["epochs", "seed"], "epochs,seed", "epochs" or "all".
std::vector<std::string> read_mutate(ObjectReader& object) {
  const JsonNode* names = object.any("mutate");
  const JsonNode* former = object.former("mutate_params", "mutate");
  if (names == nullptr && former == nullptr) return {};
  if (const JsonNode& one = names != nullptr ? *names : *former; one.is(Kind::text)) {
    return names_between_commas(one.text);
  }
  return names != nullptr ? object.names_in(*names, "mutate")
                          : object.names_in(*former, "mutate_params");
}

// An entry of which the other keys say whether it varies something.
Mode mode_by_keys(const ObjectReader& object, Mode otherwise) {
  if (lists_settings(object) || says_what_to_vary(object)) return Mode::mutation;
  const bool sets = object.has("hyperparameters") || object.has("fixed_hyperparams");
  return sets || object.has("baseline_runs") ? Mode::standard : otherwise;
}

// "0.01" in quotes looks like a number, so say what it is.
std::string as_found(const Value& value) {
  return value.type == Value::Type::text ? fmt::format("the string \"{}\"", value.word)
                                         : text_of(value);
}

// Reports errors about one training at one place.
class TrainingCheck {
 public:
  TrainingCheck(Training& training, const Repository& repository, const TrainingPlace& place,
                Problems& problems)
      : training_(training), repository_(repository), place_(place), problems_(problems) {}

  bool fixed() {
    bool good = true;
    std::vector<std::string> known;
    for (const auto& parameter : repository_.hyperparameters) known.push_back(parameter.name);
    for (auto& [name, value] : training_.fixed.all) {
      const Hyperparameter* parameter = repository_.find(name);
      if (parameter == nullptr) {
        good = error("{} has no hyperparameter {}{}", repository_.name, name, one_of(name, known));
      } else if (auto fitting = value_for(*parameter, value)) {
        value = std::move(*fitting);
      } else {
        good = error("{} is {}; it must be {}", name, as_found(value), type_name(*parameter));
      }
    }
    return good;
  }

  bool design() {
    const Design& design = training_.design;
    bool good = true;
    for (const auto* axes : {&design.choices, &design.grid}) {
      for (const ParameterChoices& axis : *axes) {
        if (training_.fixed.find(axis.parameter) == nullptr) continue;
        good = error("{} is both fixed and varied", axis.parameter);
      }
    }
    return good;
  }

  bool mutate(bool other_seeds) {
    const Design::Kind kind = training_.design.kind;
    if (!training_.mutation || kind == Design::Kind::grid || kind == Design::Kind::list) {
      return true;
    }
    auto& names = training_.mutate;
    const auto& choices = training_.design.choices;
    std::vector<std::string> known;
    for (const auto& parameter : repository_.hyperparameters) {
      const bool chosen = std::any_of(choices.begin(), choices.end(), [&](const auto& axis) {
        return axis.parameter == parameter.name;
      });
      if (parameter.varies() || chosen) known.push_back(parameter.name);
    }
    const bool all = std::find(names.begin(), names.end(), "all") != names.end();
    if (!all) {
      for (const ParameterChoices& axis : choices) {
        if (std::find(names.begin(), names.end(), axis.parameter) == names.end()) {
          names.push_back(axis.parameter);
        }
      }
    }
    if (all || names.empty()) {
      names.clear();
      for (const std::string& name : known) {
        if (training_.fixed.find(name) == nullptr) names.push_back(name);
      }
    }
    const auto is_nuisance = [&](const std::string& name) {
      const Hyperparameter* parameter = repository_.find(name);
      return parameter != nullptr && parameter->nuisance;
    };
    const size_t listed = names.size();
    if (other_seeds) std::erase_if(names, is_nuisance);
    if (names.empty() && listed > 0) {
      return error("{} varies only with the repeats; mode default with `repeats` runs that",
                   repository_.name);
    }
    return names_exist(known);
  }

 private:
  template <typename... Args>
  bool error(fmt::format_string<Args...> text, Args&&... args) {
    problems_.error(place_.file, place_.line, fmt::format(text, std::forward<Args>(args)...));
    return false;
  }

  bool names_exist(const std::vector<std::string>& known) {
    bool good = true;
    for (const std::string& name : training_.mutate) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        good = error("{} has no hyperparameter {} with a range{}", repository_.name, name,
                     one_of(name, known));
      } else if (training_.fixed.find(name) != nullptr) {
        good = error("{} is both fixed and in mutate", name);
      }
    }
    if (training_.mutate.empty()) good = error("{} has nothing to mutate", repository_.name);
    return good;
  }

  Training& training_;
  const Repository& repository_;
  const TrainingPlace& place_;
  Problems& problems_;
};

}  // namespace

void say_nonparallel(ObjectReader& object) {
  object.warning(object.line_of("mode"),
                 "mode nonparallel is taken as mutation or default, depending on the other keys");
}

std::optional<Mode> read_mode(ObjectReader& object, Mode otherwise) {
  constexpr std::array kTypes = {"mutation_type", "experiment_type"};
  const bool by_keys = otherwise == Mode::nonparallel;
  if (by_keys) otherwise = Mode::mutation;
  std::string said = object.text("mode").value_or("");
  if (said == "parallel") return Mode::parallel;  // the other keys are the foreground's
  if (said != "nonparallel") {
    said = text_or_former(object, "mode", {kTypes.begin(), kTypes.end()}).value_or("");
  } else {
    say_nonparallel(object);
    said.clear();
    for (const char* key : kTypes) {
      said = object.text(key).value_or(said);
    }
    if (said.empty()) return mode_by_keys(object, otherwise);
  }
  if (said.empty()) return by_keys ? mode_by_keys(object, otherwise) : otherwise;
  if (said == "mutation") return Mode::mutation;
  if (said == "default" || said == "baseline") return Mode::standard;
  if (said == "parallel") return Mode::parallel;  // by an old key
  object.error(object.line_of("mode"),
               fmt::format("mode is '{}'; it must be mutation, default or parallel", said));
  return std::nullopt;
}

std::vector<std::string> names_between_commas(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t first = part.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    names.push_back(part.substr(first, part.find_last_not_of(' ') - first + 1));
  }
  return names;
}

std::optional<uint64_t> read_runs(ObjectReader& object) {
  auto runs = object.count("runs_per_config", 0);
  const JsonNode* former = object.former("num_mutations", "runs_per_config");
  return former == nullptr || runs ? runs : object.count("num_mutations", 0);
}

std::optional<Training> read_training(ObjectReader& object, Mode mode, const Catalog& catalog,
                                      bool other_seeds) {
  Training training{.mutation = mode == Mode::mutation || lists_settings(object)};
  const auto repository = text_or_former(object, "repo", {"repository"});
  const auto model = object.text("model");
  training.mutate = read_mutate(object);
  add_fixed(object.object("hyperparameters"), object, training);
  add_fixed(object.former("fixed_hyperparams", "hyperparameters", Kind::object), object, training);
  const size_t errors_before = object.problems().errors();
  training.design = read_design(object, repository ? catalog.find(*repository) : nullptr);
  if (lists_settings(object) && mode == Mode::standard && object.has("mode")) {
    object.error(
        object.line_of("mode"),
        "mode default has one setting; remove the mode, or choices, grid, list and design");
  }
  if (!repository) {
    const bool wrong_type = object.has("repo") || object.has("repository");
    if (!wrong_type) object.error(object.node().line, "this entry has no repo");
    return std::nullopt;
  }
  training.repository = *repository;
  training.model = model.value_or("");
  const TrainingPlace place{
      .file = object.file(),
      .line = object.has("repo") ? object.line_of("repo") : object.node().line};
  const bool good = check_training(training, catalog, place, object.problems(), other_seeds);
  if (!good || object.problems().errors() > errors_before) return std::nullopt;
  return training;
}

bool check_training(Training& training, const Catalog& catalog, const TrainingPlace& place,
                    Problems& problems, bool other_seeds) {
  const Repository* repository = catalog.find(training.repository);
  if (repository == nullptr) {
    problems.error(place.file, place.line,
                   fmt::format("there is no repo {} in {}{}", training.repository, catalog.file,
                               one_of(training.repository, catalog.names())));
    return false;
  }
  bool good = true;
  const auto& models = repository->models;
  const bool has_default = std::ranges::find(models, "default") != models.end();
  if (training.model.empty() && (has_default || models.size() == 1)) {
    training.model = has_default ? "default" : models.front();
  }
  if (training.model.empty()) {
    problems.error(place.file, place.line,
                   fmt::format("{} has several models, and none is named here{}", repository->name,
                               one_of("", models)));
    good = false;
  } else if (std::ranges::find(models, training.model) == models.end()) {
    problems.error(place.file, place.line,
                   fmt::format("{} has no model {}{}", repository->name, training.model,
                               one_of(training.model, models)));
    good = false;
  }
  TrainingCheck check(training, *repository, place, problems);
  good = check.fixed() && good;
  good = check.design() && good;
  return check.mutate(other_seeds) && good;
}

}  // namespace plimsoll::experiment
