#include "experiment/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/nearest.h"
#include "experiment/entry_reader.h"
#include "experiment/json_reader.h"

namespace plimsoll::experiment {
namespace {

using Kind = JsonNode::Kind;

constexpr std::array<std::string_view, 5> kGovernors = {"performance", "powersave", "ondemand",
                                                        "conservative", "schedutil"};

// Values for all entries that do not set their own.
struct Defaults {
  Mode mode = Mode::mutation;
  uint64_t runs = 1;
  std::optional<uint64_t> settings;
  std::optional<uint64_t> repeats;
  Terms terms;

  bool other_seeds() const { return settings || repeats; }
};

// How often an entry runs, as written. `runs` is the old key, which means settings in one mode and
// repeats in the other.
struct Counts {
  std::optional<uint64_t> runs;
  std::optional<uint64_t> settings;
  std::optional<uint64_t> repeats;

  static Counts read(ObjectReader& object) {
    return {.runs = read_runs(object),
            .settings = object.count("settings", 1),
            .repeats = object.count("repeats", 1)};
  }
  // What this object does not say, `under` says.
  Counts over(const Counts& under) const {
    return {.runs = runs ? runs : under.runs,
            .settings = settings ? settings : under.settings,
            .repeats = repeats ? repeats : under.repeats};
  }
};

bool uses_new_counts(const ObjectReader& object) {
  return object.has("settings") || object.has("repeats") || lists_settings(object);
}

void apply(const Counts& counts, const Defaults& defaults, ObjectReader& object,
           SettingsEntry& entry) {
  const auto refuse = [&](const std::string& text) {
    object.error(object.line_of("runs_per_config"), text);
  };
  const Training& training = entry.foreground;
  const Design::Kind kind = training.design.kind;
  const bool enumerated = kind == Design::Kind::grid || kind == Design::Kind::list;
  entry.repeats = counts.repeats.value_or(defaults.repeats.value_or(1));
  if (!training.mutation) {
    if (counts.settings) refuse("settings needs something to vary: mutate, choices, grid or list");
    if (counts.runs && counts.repeats) refuse("give runs_per_config or repeats, not both");
    entry.runs = counts.runs.value_or(entry.other_seeds ? 1 : defaults.runs);
    if (counts.runs && defaults.repeats) {  // the same thing: the entry's number counts
      entry.repeats = *counts.runs;
      entry.runs = 1;
    }
  } else if (enumerated) {
    if (counts.runs) {
      refuse(
          fmt::format("runs_per_config is ambiguous for a {}; write repeats, or settings to draw "
                      "some of its settings",
                      name(kind)));
    }
    entry.runs = counts.settings;
  } else {
    if (counts.runs && counts.settings) refuse("give runs_per_config or settings, not both");
    const auto asked = counts.settings ? counts.settings : counts.runs;
    entry.runs = asked ? asked : defaults.settings ? defaults.settings : defaults.runs;
  }
  // The entry asks only for baselines: no other runs with the defaults.
  const bool given = counts.runs || counts.repeats;
  if (!training.mutation && entry.baseline_runs > 0 && !given) entry.runs = 0;
}

// Keys that say what an entry trains. `counts` also occur in headings.
const std::vector<std::string> kTrainingKeys = {"repo",       "repository",    "model",
                                                "mode",       "mutation_type", "experiment_type",
                                                "mutate",     "mutate_params", "hyperparameters",
                                                "foreground", "background",    "fixed_hyperparams"};
const std::vector<std::string> kCountKeys = {"runs_per_config", "num_mutations", "baseline_runs"};
// Keys of the top level that an entry cannot set.
const ObjectReader::Elsewhere kTopKeys = {
    .keys = {"experiment_name", "governor", "max_retries", "use_deduplication", "historical_csvs",
             "experiments", "order", "warmup", "cooldown"},
    .home = "the top level"};
const ObjectReader::Elsewhere kEntryKeys = {
    .keys = {"repo", "repository", "model", "mutate", "mutate_params", "hyperparameters",
             "fixed_hyperparams", "foreground", "background", "choices", "grid", "list", "design",
             "exclude", "only_if"},
    .home = "an entry of `experiments`"};

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// An entry of comments, counts and dates, which names no training.
bool is_heading(const JsonNode& node) {
  const auto says_nothing = [](const JsonMember& member) {
    if (is_note(member.key)) return true;
    const bool plain = !member.value.is(Kind::list) && !member.value.is(Kind::object);
    return plain && !contains(kCountKeys, member.key) && !nearest(member.key, kTrainingKeys);
  };
  const auto& members = node.members;
  const bool only_counts_besides =
      std::all_of(members.begin(), members.end(), [&](const JsonMember& member) {
        return says_nothing(member) || contains(kCountKeys, member.key);
      });
  return only_counts_besides &&
         (members.empty() || std::any_of(members.begin(), members.end(), says_nothing));
}

void reject_formulas(ObjectReader& object) {
  if (object.any("mutation_strategy") == nullptr) return;
  object.problems().key_error(
      object.file(), object.line_of("mutation_strategy"),
      "mutation_strategy is not supported: values are drawn from the ranges of the model config; "
      "remove it, or write the values into a grid, a list or choices");
}

// Old keys without effect: plimsoll always cleans up.
void accept_cleanup(ObjectReader& object) {
  for (const char* key : {"cleanup_gpu_memory", "cleanup_between_experiments"}) {
    object.former(key, "true, because plimsoll always cleans up");
  }
}

// A background load has limits, but it has no result to check and no values to shrink.
Terms read_background_terms(ObjectReader& object) {
  for (const char* key : {"expect", "retry_on", "shrink"}) {
    if (!object.has(key)) continue;
    object.problems().key_error(
        object.file(), object.line_of(key),
        fmt::format("{} has no meaning for a background: it is a load, not a result", key));
  }
  return read_terms(object);
}

// Says which of these keys are there but change nothing. An empty one means nothing anyway.
void say_without_effect(ObjectReader& object, const std::vector<const char*>& keys,
                        const std::string& why) {
  for (const char* key : keys) {
    const JsonNode* value = object.node().find(key);
    if (!object.has(key) || (value->is(Kind::list) && value->items.empty())) continue;
    object.problems().key_without_effect(object.file(), object.line_of(key),
                                         fmt::format("{} has no effect {}", key, why));
  }
}

void say_what_default_ignores(ObjectReader& object, std::optional<Mode> mode) {
  if (mode != Mode::standard || lists_settings(object)) return;
  say_without_effect(object, {"mutate", "mutate_params", "exclude"},
                     "in mode default, which varies nothing; remove it, or write mode mutation");
}

void read_background_mode(ObjectReader& object) {
  say_without_effect(object,
                     {"mutate", "mutate_params", "exclude", "choices", "grid", "list", "design"},
                     "for a background, which runs with its defaults and `hyperparameters`");
  const std::vector<const char*> counts = {"runs_per_config", "num_mutations", "baseline_runs",
                                           "settings", "repeats"};
  for (const char* key : counts) object.quietly(key);
  say_without_effect(object, counts, "for a background, which runs as long as its foreground");
  const auto mode = object.text("mode");
  if (mode && *mode != "default") {
    object.warning(object.line_of("mode"),
                   fmt::format("mode {} is ignored: a background load runs with its defaults and "
                               "`hyperparameters`",
                               *mode));
  }
}

// Names are the same in any order.
bool same_names(const JsonNode& one, const JsonNode& other) {
  const auto names = [](const JsonNode& node) {
    std::set<std::string> all;
    if (node.is(Kind::text)) all.insert(node.text);
    for (const JsonNode& item : node.items) all.insert(item.text);
    return all;
  };
  const auto lists_names = [](const JsonNode& node) {
    return node.is(Kind::text) ||
           (node.is(Kind::list) &&
            std::ranges::all_of(node.items, [](const auto& item) { return item.is(Kind::text); }));
  };
  return lists_names(one) && lists_names(other) && names(one) == names(other);
}

// Many files repeat in a parallel entry what its foreground says. That is fine if both agree. What
// only the entry says counts for the foreground, too, which may be all of it.
JsonNode foreground_of(ObjectReader& object, const JsonNode& foreground) {
  struct Key {
    const char* name;
    const char* former;
  };
  constexpr std::array<Key, 10> kRepeated = {{{"repo", "repository"},
                                              {"model", nullptr},
                                              {"mutate", "mutate_params"},
                                              {"hyperparameters", "fixed_hyperparams"},
                                              {"choices", nullptr},
                                              {"grid", nullptr},
                                              {"list", nullptr},
                                              {"design", nullptr},
                                              {"exclude", nullptr},
                                              {"only_if", nullptr}}};
  JsonNode whole = foreground;
  for (const Key& key : kRepeated) {
    for (const char* spelling : {key.former, key.name}) {
      const JsonNode* beside = spelling == nullptr ? nullptr : object.quietly(spelling);
      if (beside == nullptr) continue;
      const JsonNode* own = whole.find(key.name);
      if (own == nullptr && key.former != nullptr) own = whole.find(key.former);
      if (own == nullptr) {
        whole.members.push_back(
            {.key = spelling, .line = object.line_of(spelling), .value = *beside});
      } else if (!same(*own, *beside) &&
                 (std::string_view(key.name) != "mutate" || !same_names(*own, *beside))) {
        // Without the line of the other, so that many of them are one message.
        object.error(
            object.line_of(spelling),
            fmt::format("{} differs from that of the foreground; remove one of them", spelling));
      }
    }
  }
  // Beside `mode: parallel`, these say what the foreground does.
  for (const char* type : {"mutation_type", "experiment_type"}) {
    const JsonNode* beside = object.quietly(type);
    if (beside == nullptr || beside->text == "parallel") continue;  // the entry's own mode
    const JsonNode* own = whole.find("mode") != nullptr ? whole.find("mode") : whole.find(type);
    if (own != nullptr) {
      const bool agrees =
          own->text == beside->text || (own->text == "default" && beside->text == "baseline");
      if (!agrees) {
        object.problems().key_without_effect(
            object.file(), object.line_of(type),
            fmt::format("{} {} has no effect: the mode of the foreground is {}", type, beside->text,
                        own->text));
      }
      continue;
    }
    whole.members.push_back({.key = type, .line = object.line_of(type), .value = *beside});
  }
  return whole;
}

std::optional<SettingsEntry> read_parallel(ObjectReader& object, SettingsEntry entry,
                                           const Defaults& defaults, const Catalog& catalog) {
  const JsonNode* foreground = object.object("foreground");
  const JsonNode* background = object.object("background");
  const JsonNode nothing{.kind = Kind::object, .line = object.node().line};
  const JsonNode whole = foreground_of(object, foreground == nullptr ? nothing : *foreground);
  const bool names_training = object.has("repo") || object.has("repository");
  if (background == nullptr || (foreground == nullptr && !names_training)) {
    object.error(object.node().line, "a parallel entry needs a foreground and a background");
    Counts::read(object);  // so that their keys are known
    read_terms(object);
    return std::nullopt;
  }
  ObjectReader front(whole, object.file(), object.problems());
  const auto mode = read_mode(front, Mode::mutation);
  say_what_default_ignores(front, mode);
  const Counts front_counts = Counts::read(front);
  const auto front_baselines = front.count("baseline_runs", 0);
  if (!object.has("baseline_runs")) entry.baseline_runs = front_baselines.value_or(0);
  entry.other_seeds = uses_new_counts(object) || uses_new_counts(front) || defaults.other_seeds();
  const auto front_training =
      read_training(front, mode.value_or(Mode::mutation), catalog, entry.other_seeds);
  const Terms front_terms = read_terms(front);
  reject_formulas(front);
  front.finish("foreground");
  ObjectReader back(*background, object.file(), object.problems());
  read_background_mode(back);
  const auto back_training = read_training(back, Mode::standard, catalog);
  entry.background_terms = read_background_terms(back);
  back.finish("background");
  const Counts counts = Counts::read(object).over(front_counts);
  entry.terms = merged(merged(defaults.terms, front_terms), read_terms(object));
  if (!entry.background_terms.background_runs) {
    entry.background_terms.background_runs = entry.terms.background_runs;
  }
  if (!mode || !front_training || !back_training) return std::nullopt;
  entry.foreground = *front_training;
  entry.background = back_training;
  apply(counts, defaults, object, entry);
  return entry;
}

std::optional<SettingsEntry> read_entry(const JsonNode& node, const Defaults& defaults,
                                        const std::string& file, const Catalog& catalog,
                                        Problems& problems) {
  ObjectReader object(node, file, problems);
  SettingsEntry entry{.line = node.line};
  std::optional<SettingsEntry> made;
  const auto mode = read_mode(object, object.has("foreground") ? Mode::parallel : defaults.mode);
  entry.baseline_runs = object.count("baseline_runs", 0).value_or(0);
  reject_formulas(object);
  accept_cleanup(object);
  if (mode == Mode::parallel) {
    made = read_parallel(object, entry, defaults, catalog);
  } else {
    entry.other_seeds = uses_new_counts(object) || defaults.other_seeds();
    say_what_default_ignores(object, mode);
    const auto training =
        read_training(object, mode.value_or(Mode::mutation), catalog, entry.other_seeds);
    const Counts counts = Counts::read(object);
    entry.terms = merged(defaults.terms, read_terms(object));
    if (mode && training) {
      entry.foreground = *training;
      apply(counts, defaults, object, entry);
      made = entry;
    }
  }
  object.finish("this entry", kTopKeys);
  if (made && made->runs == 0 && made->baseline_runs == 0) {
    problems.warning(file, node.line, "this entry produces no experiment: runs_per_config is 0");
  }
  return made;
}

// Checks the merged terms, because `expect` may also be set at the top.
void check_expectation(const SettingsEntry& entry, const std::string& file, const Catalog& catalog,
                       Problems& problems) {
  const Repository* repository = catalog.find(entry.foreground.repository);
  if (repository == nullptr) return;
  std::vector<std::string> texts;
  if (entry.terms.expect) texts = metrics_without_pattern(*entry.terms.expect, repository->metrics);
  const Terms terms = merged(repository->terms, entry.terms);
  if (auto text = obstacle_of_stopping(terms, repository->metrics)) {
    texts.push_back(std::move(*text));
  }
  for (const std::string& text : texts) {
    problems.error(file, entry.line, fmt::format("{}: {}", repository->name, text));
  }
}

// "batch" and "mixed" say that each entry has a mode of its own.
Mode read_top_mode(ObjectReader& object, Mode otherwise) {
  const JsonNode* mode = object.any("mode");
  if (mode != nullptr && (mode->text == "batch" || mode->text == "mixed")) return otherwise;
  const bool has_type = object.has("mutation_type") || object.has("experiment_type");
  if (mode != nullptr && mode->text == "nonparallel" && !has_type) {
    say_nonparallel(object);
    return Mode::nonparallel;
  }
  return read_mode(object, otherwise).value_or(otherwise);
}

void read_order(ObjectReader& object, Settings& settings) {
  if (const auto order = object.text("order")) {
    constexpr std::array kOrders = {Order::as_listed, Order::random, Order::blocked};
    const auto* found = std::find_if(kOrders.begin(), kOrders.end(),
                                     [&](Order one) { return name(one) == *order; });
    if (found == kOrders.end()) {
      object.error(object.line_of("order"),
                   fmt::format("order is '{}'; it must be as_listed, random or blocked", *order));
    } else {
      settings.order = *found;
    }
  }
  settings.warmup = object.count("warmup", 0).value_or(settings.warmup);
  const JsonNode* cooldown = object.any("cooldown");
  if (cooldown != nullptr && cooldown->is(Kind::text) && cooldown->text == "auto") {
    settings.cooldown.automatic = true;
  } else if (cooldown != nullptr) {
    settings.cooldown.seconds = object.seconds("cooldown").value_or(0);
  }
}

// "deduplication": true, or {"enabled": true, "historical_csvs": [...]}
void read_former_deduplication(ObjectReader& object, Settings& settings) {
  const JsonNode* former = object.former("deduplication", "use_deduplication");
  if (former == nullptr) return;
  if (former->is(Kind::boolean)) {
    settings.deduplicate = former->boolean;
  } else if (former->is(Kind::object)) {
    ObjectReader inner(*former, object.file(), object.problems());
    settings.deduplicate = inner.boolean("enabled").value_or(settings.deduplicate);
    if (auto files = inner.texts("historical_csvs")) settings.history = std::move(*files);
    inner.finish("deduplication");
  } else {
    object.error(former->line,
                 fmt::format("deduplication is {}; it must be true, false, or an object with "
                             "`enabled`",
                             name(former->kind)));
  }
}

// Reads the top level, and `global_settings`, which has the same keys.
void read_top(ObjectReader& object, Settings& settings, Defaults& defaults) {
  if (const JsonNode* inner =
          object.former("global_settings", "keys of the top level", Kind::object)) {
    ObjectReader nested(*inner, object.file(), object.problems());
    read_top(nested, settings, defaults);
    nested.finish("global_settings", kEntryKeys);
  }
  settings.name = object.text("experiment_name").value_or(settings.name);
  if (const JsonNode* session = object.former("session_name", "experiment_name", Kind::text);
      session != nullptr && settings.name.empty()) {
    settings.name = session->text;
  }
  if (const JsonNode* folder = object.former("base_results_dir", "--results", Kind::text)) {
    settings.results_folder = folder->text;
  }
  if (const JsonNode* governor = object.any("governor")) {
    settings.governor = governor->text;
    if (std::find(kGovernors.begin(), kGovernors.end(), settings.governor) == kGovernors.end()) {
      object.error(governor->line,
                   fmt::format("governor is {}; it must be performance, powersave, "
                               "ondemand, conservative or schedutil",
                               governor->is(Kind::text) ? fmt::format("'{}'", governor->text)
                                                        : std::string(name(governor->kind))));
    }
  }
  settings.max_retries =
      static_cast<unsigned>(object.count("max_retries", 0).value_or(settings.max_retries));
  settings.deduplicate = object.boolean("use_deduplication").value_or(settings.deduplicate);
  read_former_deduplication(object, settings);
  if (auto files = object.texts("historical_csvs")) settings.history = std::move(*files);
  if (object.any("baseline_runs") != nullptr) {
    object.problems().key_error(object.file(), object.line_of("baseline_runs"),
                                "baseline_runs is not allowed here: put it into an entry, where it "
                                "says how often that training runs with its defaults");
  }
  defaults.mode = read_top_mode(object, defaults.mode);
  const Counts counts = Counts::read(object);
  defaults.runs = counts.runs.value_or(defaults.runs);
  if (counts.settings) defaults.settings = counts.settings;
  if (counts.repeats) defaults.repeats = counts.repeats;
  read_order(object, settings);
  defaults.terms = merged(defaults.terms, read_terms(object));
  reject_formulas(object);
  accept_cleanup(object);
}

}  // namespace

std::string_view name(Order order) {
  switch (order) {
    case Order::as_listed:
      return "as_listed";
    case Order::random:
      return "random";
    case Order::blocked:
      return "blocked";
  }
  return "";
}

Settings read_settings(std::string_view text, const std::string& file, const Catalog& catalog,
                       Problems& problems) {
  Settings settings{.file = file};
  const JsonNode root = parse_json(text, file);
  ObjectReader object(root, file, problems);
  Defaults defaults;
  read_top(object, settings, defaults);
  const JsonNode* experiments = object.list("experiments");
  object.finish("the settings", kEntryKeys);
  if (experiments == nullptr) {
    if (!object.has("experiments")) {
      problems.error(file, root.line, "it has no list `experiments`, so it is not a settings file");
    }
    return settings;
  }
  for (const JsonNode& node : experiments->items) {
    if (!node.is(Kind::object)) {
      problems.error(file, node.line,
                     fmt::format("an entry is {}; it must be an object", name(node.kind)));
    } else if (is_heading(node)) {
      problems.count_note();
    } else if (auto entry = read_entry(node, defaults, file, catalog, problems)) {
      check_expectation(*entry, file, catalog, problems);
      settings.entries.push_back(std::move(*entry));
    }
  }
  if (settings.entries.empty() && problems.errors() == 0) {
    problems.error(file, experiments->line,
                   fmt::format("experiments {}: there is nothing to run",
                               experiments->items.empty() ? "is empty" : "has only comments"));
  }
  return settings;
}

Settings settings_of(const CommandLine& words, const Catalog& catalog, Problems& problems) {
  Settings settings{.file = "the command line"};
  SettingsEntry entry{.runs = words.runs};
  entry.foreground = {.repository = words.repository, .model = words.model, .mutation = true};
  entry.foreground.mutate = names_between_commas(words.mutate);
  if (check_training(entry.foreground, catalog, {.file = settings.file}, problems)) {
    settings.entries.push_back(std::move(entry));
  }
  return settings;
}

}  // namespace plimsoll::experiment
