#include "experiment/entry_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "base/units.h"
#include "experiment/design.h"
#include "experiment/draw.h"

namespace plimsoll::experiment {
namespace {

// Smaller numbers of random streams belong to the entries.
constexpr uint64_t kSeedStream = uint64_t{1} << 40;
constexpr unsigned kMostTries = 1000;  // for a seed that was not used yet

struct Combinations {
  uint64_t all = 0;       // besides the defaults
  uint64_t excluded = 0;  // by the rules of the design
  uint64_t drawn = 0;
  uint64_t in_history = 0;
};

const char* is_or_are(uint64_t count) { return count == 1 ? "is" : "are"; }

// "4 are left and run"
std::string left_and_run(uint64_t left) {
  if (left == 0) return "none is left";
  return fmt::format("{} {} left and {}", left, is_or_are(left), left == 1 ? "runs" : "run");
}

// "toy/good asks for 9 combinations, 4 are left and run: its ranges have 11 besides the defaults, 2
// are drawn by other entries, 5 are in the history"
std::string few_left(const Training& training, uint64_t asked, const Combinations& found) {
  const uint64_t left = found.all - found.excluded - found.drawn - found.in_history;
  std::string text =
      fmt::format("{}/{} asks for {}, {}: its ranges have {}{}", training.repository,
                  training.model, counted(asked, "combination"), left_and_run(left), found.all,
                  training.design.choices.empty() ? " besides the defaults" : "");
  if (found.excluded > 0) {
    text += fmt::format(", {} {} excluded{}", found.excluded, is_or_are(found.excluded),
                        training.design.rules.only_if.empty() ? "" : " or equal to others");
  }
  if (found.drawn > 0) {
    text += fmt::format(", {} {} drawn by earlier entries", found.drawn, is_or_are(found.drawn));
  }
  if (found.in_history > 0) {
    text += fmt::format(", {} {} in the history", found.in_history, is_or_are(found.in_history));
  }
  return text;
}

bool same_values(const Values& one, const Values& other) {
  return one.all.size() == other.all.size() &&
         std::all_of(one.all.begin(), one.all.end(), [&](const Values::Named& named) {
           const Value* value = other.find(named.name);
           return value != nullptr && *value == named.value;
         });
}

// The same setting without the seeds that its repeats will get: those of `base` instead.
Values with_seeds_of(const Values& base, Values values, const SettingsEntry& entry,
                     const Repository& repository) {
  const Design& design = entry.foreground.design;
  for (const Hyperparameter& parameter : repository.hyperparameters) {
    if (!gets_own_seeds(entry, parameter) || design.lists(parameter.name)) continue;
    if (const Value* value = base.find(parameter.name)) {
      values.set(parameter.name, *value);
    } else {
      std::erase_if(values.all, [&](const auto& one) { return one.name == parameter.name; });
    }
  }
  return values;
}

}  // namespace

bool gets_own_seeds(const SettingsEntry& entry, const Hyperparameter& parameter) {
  return entry.other_seeds && parameter.nuisance && parameter.type == Value::Type::number &&
         entry.foreground.fixed.find(parameter.name) == nullptr;
}

Values fixed_values(const Training& training, const Repository& repository) {
  Values values = repository.all_defaults();
  for (const auto& [name, value] : training.fixed.all) values.set(name, value);
  return values;
}

std::vector<Values> EntrySettings::of(size_t index) {
  const SettingsEntry& entry = source_.settings.entries[index];
  std::vector<Values> all = made(index);
  warn_of_removed(entry, all);
  warn_of_idle_exclusions(entry);
  return all;
}

std::vector<Values> EntrySettings::made(size_t index) {
  const SettingsEntry& entry = source_.settings.entries[index];
  const Training& training = entry.foreground;
  const Design& design = training.design;
  const Values base = fixed_values(training, *source_.catalog.find(training.repository));
  if (!training.mutation) {
    std::vector<Values> same(entry.runs.value_or(1), design.rules.settled(base));
    return same;
  }
  switch (design.kind) {
    case Design::Kind::draws:
    case Design::Kind::lhs:
      return drawn(entry, index);
    case Design::Kind::grid:
      return chosen(entry, index, grid_settings(design.grid, base));
    case Design::Kind::list:
      break;
  }
  std::vector<Values> all;
  for (const Values& listed : design.list) {
    all.push_back(base);
    for (const auto& [name, value] : listed.all) all.back().set(name, value);
  }
  return chosen(entry, index, std::move(all));
}

// The settings of a grid or a list that the rules and the history leave, and of them as
// many as asked for.
std::vector<Values> EntrySettings::chosen(const SettingsEntry& entry, size_t index,
                                          std::vector<Values> all) {
  const DesignRules& rules = entry.foreground.design.rules;
  std::vector<Values> earlier = past(entry);
  for (Values& values : earlier) values = rules.settled(std::move(values));
  std::vector<Values> kept;
  std::set<std::string> known;
  size_t in_history = 0;
  size_t excluded = 0;
  std::vector<size_t> equal;  // to an earlier one
  for (size_t i = 0; i < all.size(); ++i) {
    Values& values = all[i];
    values = rules.settled(std::move(values));
    if (rules.excludes(values)) {
      ++excluded;
      continue;
    }
    if (!known.insert(describe(values)).second) {
      equal.push_back(i);
      continue;
    }
    if (std::any_of(earlier.begin(), earlier.end(),
                    [&](const Values& one) { return same_values(one, values); })) {
      ++in_history;
    } else {
      kept.push_back(std::move(values));
    }
  }
  const auto warn = [&](std::string text) {
    source_.problems.warning(source_.settings.file, entry.line, std::move(text));
  };
  const Design& design = entry.foreground.design;
  if (design.kind == Design::Kind::list && !equal.empty()) {
    warn(
        fmt::format("list: {} of its {} settings {} an earlier one and {} only once, the "
                    "first of them {{{}}}; \"repeats\" runs every setting several times, with "
                    "other seeds",
                    equal.size(), all.size(), equal.size() == 1 ? "equals" : "equal",
                    equal.size() == 1 ? "runs" : "run", describe(design.list[equal.front()])));
  }
  if (in_history > 0) {
    warn(fmt::format("{} of its {} settings {} in the history and {} not run again", in_history,
                     in_history + kept.size(), is_or_are(in_history),
                     in_history == 1 ? "does" : "do"));
  }
  if (!entry.runs) return kept;
  if (*entry.runs > kept.size()) {
    std::string text =
        fmt::format("it asks for {}, {}: its {} has {}", counted(*entry.runs, "setting"),
                    left_and_run(kept.size()), name(design.kind), all.size());
    for (const auto& [count, what] : {std::pair{excluded, "excluded"},
                                      {equal.size(), "equal to others"},
                                      {in_history, "in the history"}}) {
      if (count > 0) text += fmt::format(", {} {} {}", count, is_or_are(count), what);
    }
    warn(std::move(text));
    return kept;
  }
  std::vector<Values> some;
  for (const size_t place : drawn_places(kept.size(), *entry.runs, source_.seed, index)) {
    some.push_back(std::move(kept[place]));
  }
  return some;
}

std::vector<Values> EntrySettings::drawn(const SettingsEntry& entry, size_t index) {
  const Training& training = entry.foreground;
  const Repository& repository = *source_.catalog.find(training.repository);
  const uint64_t asked = entry.runs.value_or(1);
  const Values base = fixed_values(training, repository);
  const Drawer all(repository, training.mutate, base, source_.seed, index, training.design);
  auto& others = drawn_[{training.repository, training.model, entry.background.has_value()}];
  Drawer unused = all;
  for (const Values& values : others) {
    unused.forbid(with_seeds_of(base, values, entry, repository));
  }
  Drawer drawer = unused;
  for (const Values& values : past(entry)) drawer.forbid(values);
  const auto left = drawer.left(asked);
  const auto warn = [&](std::string text) {
    source_.problems.warning(source_.settings.file, entry.line, std::move(text));
  };
  if (left && *left < asked) {
    const uint64_t at_first = all.left().value_or(0);
    const uint64_t in_ranges = std::max(at_first, all.combinations_to_draw().value_or(0));
    const uint64_t after_others = unused.left().value_or(0);
    warn(few_left(training, asked,
                  {.all = in_ranges,
                   .excluded = in_ranges - at_first,
                   .drawn = at_first - after_others,
                   .in_history = after_others - *left}));
  }
  std::vector<Values> made;
  if (training.design.kind == Design::Kind::lhs) {
    auto cube = drawer.latin_hypercube(static_cast<size_t>(asked));
    made = std::move(cube.points);
    if (cube.replaced > 0) {
      warn(fmt::format("lhs: {} of {} points were excluded or taken; plain draws replace them",
                       cube.replaced, asked));
    }
  }
  while (training.design.kind == Design::Kind::draws && made.size() < asked) {
    auto values = drawer.next();
    if (!values) break;
    made.push_back(std::move(*values));
  }
  if (!left && made.size() < asked) {
    warn(fmt::format("{}/{} asks for {} settings, but the rules of its design leave {}",
                     training.repository, training.model, asked,
                     made.empty() ? "none" : fmt::format("{}; these run", made.size())));
  }
  others.insert(others.end(), made.begin(), made.end());
  return made;
}

namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool lacks(const std::vector<Values>& all, const std::string& name) {
  return std::ranges::all_of(all, [&](const Values& one) { return one.find(name) == nullptr; });
}

// Whether each experiment draws anew if the parameter has a value.
bool condition_is_drawn(const Training& training, const Conditions& conditions) {
  return std::ranges::any_of(conditions, [&](const Condition& one) {
    return training.mutation && has(training.mutate, one.parameter);
  });
}

std::string removed_text(const std::string& parameter, const Conditions& conditions) {
  return fmt::format("{} has no effect: it is only passed with {}", parameter,
                     describe(conditions));
}

// The parameters of which no experiment gets the value that the entry states.
std::vector<std::string> stated_names(const Training& training) {
  std::vector<std::string> names;
  for (const auto& named : training.fixed.all) names.push_back(named.name);
  if (!training.mutation) return names;
  for (const ParameterChoices& axis : training.design.grid) names.push_back(axis.parameter);
  const bool draws =
      training.design.kind == Design::Kind::draws || training.design.kind == Design::Kind::lhs;
  if (draws) names.insert(names.end(), training.mutate.begin(), training.mutate.end());
  return names;
}

// Whether a setting of the entry can have a value for which the condition holds.
bool can_hold(const Condition& condition, const Training& training, const Repository& repository,
              const Values& base) {
  const auto with = [&](const Value& value) {
    Values one;
    one.set(condition.parameter, value);
    return holds(condition, one);
  };
  const Design& design = training.design;
  for (const auto* axes : {&design.choices, &design.grid}) {
    for (const ParameterChoices& axis : *axes) {
      if (axis.parameter == condition.parameter) return std::ranges::any_of(axis.values, with);
    }
  }
  for (const Values& listed : design.list) {
    const Value* value = listed.find(condition.parameter);
    if (value != nullptr && with(*value)) return true;
  }
  const Hyperparameter* parameter = repository.find(condition.parameter);
  const bool enumerated = design.kind == Design::Kind::grid || design.kind == Design::Kind::list;
  if (!enumerated && parameter != nullptr && has(training.mutate, condition.parameter)) {
    return can_be_drawn(*parameter, condition);
  }
  const Value* fixed = base.find(condition.parameter);
  return fixed != nullptr && with(*fixed);
}

}  // namespace

void EntrySettings::warn_of_removed(const SettingsEntry& entry,
                                    const std::vector<Values>& made) const {
  const Training& training = entry.foreground;
  const auto& only_if = training.design.rules.only_if;
  for (const std::string& name : stated_names(training)) {
    const auto conditions = only_if.find(name);
    if (conditions == only_if.end() || made.empty() || !lacks(made, name)) continue;
    if (condition_is_drawn(training, conditions->second)) continue;  // it may be drawn next time
    warn(entry, removed_text(name, conditions->second));
  }
  std::map<std::string, size_t> removed;  // of a list: in how many settings
  const Values base = fixed_values(training, *source_.catalog.find(training.repository));
  for (const Values& listed : training.design.list) {
    Values whole = base;
    for (const auto& [name, value] : listed.all) whole.set(name, value);
    const Values settled = training.design.rules.settled(std::move(whole));
    for (const auto& named : listed.all) {
      if (settled.find(named.name) == nullptr) ++removed[named.name];
    }
  }
  for (const auto& [name, count] : removed) {
    warn(entry, fmt::format("list: in {} of its {} settings, {}", count,
                            training.design.list.size(), removed_text(name, only_if.at(name))));
  }
  if (!entry.background) return;
  const Training& load = *entry.background;
  const Values with =
      load.design.rules.settled(fixed_values(load, *source_.catalog.find(load.repository)));
  for (const auto& named : load.fixed.all) {
    if (with.find(named.name) != nullptr) continue;
    warn(entry,
         "background: " + removed_text(named.name, load.design.rules.only_if.at(named.name)));
  }
}

void EntrySettings::warn_of_idle_exclusions(const SettingsEntry& entry) const {
  const Training& training = entry.foreground;
  if (!training.mutation) return;
  const Repository& repository = *source_.catalog.find(training.repository);
  const Values base = fixed_values(training, repository);
  for (const Conditions& conditions : training.design.rules.exclude) {
    const auto never = std::ranges::find_if(conditions, [&](const Condition& one) {
      return !can_hold(one, training, repository, base);
    });
    if (never == conditions.end()) continue;
    warn(entry, fmt::format("exclude {} leaves out nothing: no setting has {}",
                            describe(conditions), describe(*never)));
  }
}

std::vector<Values> EntrySettings::past(const SettingsEntry& entry) const {
  const Training& training = entry.foreground;
  std::vector<Values> all;
  if (!source_.settings.deduplicate) return all;
  const Repository& repository = *source_.catalog.find(training.repository);
  const Values defaults = repository.all_defaults();
  const Values base = fixed_values(training, repository);
  for (const PastRun& run : source_.history) {
    if (run.repository == training.repository && run.model == training.model &&
        run.parallel == entry.background.has_value()) {
      all.push_back(with_seeds_of(base, values_of(run, defaults), entry, repository));
    }
  }
  return all;
}

Value RepeatSeeds::of_repeat(const std::string& repository, const Hyperparameter& parameter,
                             uint64_t repeat) {
  if (!parameter.varies()) {
    const Value first = parameter.default_value.value_or(value_of(1));
    return value_of(whole_of(first).value_or(1) + repeat - 1);
  }
  List& list = lists_[{repository, parameter.name}];
  while (list.values.size() < repeat) extend(list, parameter);
  return list.values[repeat - 1];
}

void RepeatSeeds::extend(List& list, const Hyperparameter& parameter) const {
  const RandomStream random(seed_, kSeedStream);
  if (const auto most = distinct_values(parameter); most && list.used.size() >= *most) {
    list.used.clear();
  }
  Value value;
  for (unsigned i = 0; i < kMostTries; ++i) {
    const uint64_t bits = random.at(list.draws++);
    value = draw_value(parameter, bits, random.at(list.draws++));
    if (list.used.insert({value.number, value.rest}).second) break;
  }
  list.values.push_back(std::move(value));
}

}  // namespace plimsoll::experiment
