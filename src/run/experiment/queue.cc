#include "experiment/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/units.h"
#include "experiment/design.h"
#include "experiment/entry_settings.h"
#include "io/file.h"

namespace plimsoll::experiment {
namespace {

constexpr uint64_t kMostExperiments = 1'000'000;  // each takes a kilobyte
constexpr size_t kMostNameBytes = 200;            // of 255: leaves room for the number and a suffix

// A name that is valid in every file system, does not look like an option, and is not hidden.
std::string file_name(const std::string& text) {
  std::string name = text;
  const auto is_bad = [](char c) {
    return c == '/' || c == ' ' || static_cast<unsigned char>(c) < ' ' || c == 0x7f;
  };
  std::replace_if(name.begin(), name.end(), is_bad, '_');
  if (name.starts_with('-') || name.starts_with('.')) name.front() = '_';
  if (name.size() <= kMostNameBytes) return name;
  io::Checksum checksum;
  checksum.update(std::as_bytes(std::span(text)));
  const std::string ending = "_" + checksum.hex();
  size_t end = kMostNameBytes - ending.size();
  const auto within_a_character = [&] {
    return (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80;
  };
  while (within_a_character()) --end;
  return name.substr(0, end) + ending;
}

// Of the random order; see entry_settings.cc for the other streams.
constexpr uint64_t kOrderStream = (uint64_t{1} << 40) + 1;

class QueueMaker {
 public:
  QueueMaker(const Settings& settings, const Catalog& catalog, const std::vector<PastRun>& history,
             uint64_t seed, Problems& problems)
      : settings_(settings),
        catalog_(catalog),
        seed_(seed),
        problems_(problems),
        entry_settings_({.settings = settings,
                         .catalog = catalog,
                         .history = history,
                         .seed = seed,
                         .problems = problems}),
        seeds_(seed) {}

  std::vector<Experiment> make() {
    if (const uint64_t total = asked_for(); total > kMostExperiments) {
      problems_.error(settings_.file, 0,
                      fmt::format("it asks for {} experiments; a batch has at most {}", total,
                                  kMostExperiments));
      return {};
    }
    for (size_t i = 0; i < settings_.entries.size(); ++i) add_entry(i);
    if (queue_.empty() && problems_.errors() == 0) {
      problems_.error(settings_.file, 0, "no combination is left: there is nothing to run");
    }
    warn_of_copies();
    put_in_order();
    add_warmups();
    number();
    return std::move(queue_);
  }

 private:
  uint64_t asked_for() const {
    uint64_t total = settings_.warmup;
    for (const SettingsEntry& entry : settings_.entries) {
      const Design& design = entry.foreground.design;
      uint64_t settings = design.list.size();
      if (design.kind == Design::Kind::grid) {
        settings = grid_size(design.grid, kMostExperiments).value_or(kMostExperiments + 1);
      }
      // A grid is made whole, even if only some of it is drawn.
      if (design.kind == Design::Kind::grid && settings > kMostExperiments) return settings;
      total += entry.runs.value_or(settings) * entry.repeats + entry.baseline_runs;
      if (total > kMostExperiments) return total;
    }
    return total;
  }

  void add_entry(size_t index) {
    const SettingsEntry& entry = settings_.entries[index];
    const Training& training = entry.foreground;
    const Repository& repository = *catalog_.find(training.repository);
    for (uint64_t i = 1; i <= entry.baseline_runs; ++i) {
      add(index, /*varied=*/false, with_seed(index, repository.defaults(), i, true)).baseline =
          true;
    }
    if (entry.other_seeds && entry.repeats > 1) warn_without_seed(entry, repository);
    for (const Values& setting : entry_settings_.of(index)) {
      for (uint64_t i = 1; i <= entry.repeats; ++i) {
        add(index, training.mutation, with_seed(index, setting, i));
      }
    }
  }

  // Gives the nuisances that the entry leaves open the value of this repeat. Of a baseline also
  // those that the design lists.
  Values with_seed(size_t index, Values values, uint64_t repeat, bool baseline = false) {
    const SettingsEntry& entry = settings_.entries[index];
    if (!entry.other_seeds) return values;
    const Design& design = entry.foreground.design;
    for (const Hyperparameter& parameter :
         catalog_.find(entry.foreground.repository)->hyperparameters) {
      if (!gets_own_seeds(entry, parameter)) continue;
      if (!baseline && design.lists(parameter.name)) continue;
      values.set(parameter.name, seeds_.of_repeat(entry.foreground.repository, parameter, repeat));
    }
    return design.rules.settled(std::move(values));
  }

  void warn_without_seed(const SettingsEntry& entry, const Repository& repository) {
    const bool has_one =
        std::any_of(repository.hyperparameters.begin(), repository.hyperparameters.end(),
                    [&](const Hyperparameter& parameter) {
                      return parameter.nuisance && !entry.foreground.design.lists(parameter.name);
                    });
    if (has_one) return;
    problems_.warning(
        settings_.file, entry.line,
        fmt::format("{} has no hyperparameter seed that the entry leaves open, so its "
                    "repeats get the same command line",
                    repository.name));
  }

  // An experiment that equals an earlier one, its seed included, is no independent repeat. Without
  // a seed on the command line, a training may well differ each time.
  void warn_of_copies() {
    if (problems_.errors() > 0) return;  // they may be the cause
    std::set<std::string> known;
    const Experiment* first = nullptr;
    size_t copies = 0;
    for (const Experiment& made : queue_) {
      const Values& values = made.training.values;
      const Repository& repository = *catalog_.find(made.training.repository);
      const bool seeded = std::ranges::any_of(values.all, [&](const Values::Named& named) {
        const Hyperparameter* parameter = repository.find(named.name);
        return parameter != nullptr && parameter->nuisance;
      });
      const bool is_new = known.insert(made.configuration + " " + describe(values)).second;
      if (!seeded || is_new) continue;
      if (first == nullptr) first = &made;
      ++copies;
    }
    if (first == nullptr) return;
    problems_.warning(
        settings_.file, settings_.entries[first->entry].line,
        fmt::format(
            "{} an earlier one with the same seed, the first of them {}/{} ({}); use "
            "\"repeats\", which gives each repeat another seed",
            copies == 1 ? "1 experiment repeats" : fmt::format("{} experiments repeat", copies),
            first->training.repository, first->training.model, describe(first->training.values)));
  }

  Experiment& add(size_t index, bool varied, Values values) {
    const SettingsEntry& entry = settings_.entries[index];
    Experiment made{.varied = varied, .entry = index, .listed = queue_.size() + 1};
    made.training = {.repository = entry.foreground.repository,
                     .model = entry.foreground.model,
                     .values = std::move(values)};
    if (entry.background) {
      const Repository& repository = *catalog_.find(entry.background->repository);
      made.background = Load{.repository = entry.background->repository,
                             .model = entry.background->model,
                             .values = entry.background->design.rules.settled(
                                 fixed_values(*entry.background, repository))};
    }
    made.configuration = configuration_of(made, catalog_);
    made.repeat = ++repeats_[made.configuration];
    queue_.push_back(std::move(made));
    return queue_.back();
  }

  void put_in_order() {
    if (settings_.order == Order::as_listed) return;
    std::vector<size_t> places = shuffled(queue_.size(), seed_, kOrderStream);
    if (settings_.order == Order::blocked) {
      std::stable_sort(places.begin(), places.end(), [&](size_t one, size_t other) {
        return queue_[one].repeat < queue_[other].repeat;
      });
    }
    std::vector<Experiment> ordered;
    ordered.reserve(queue_.size());
    for (const size_t place : places) ordered.push_back(std::move(queue_[place]));
    queue_ = std::move(ordered);
  }

  // Copies of the first experiment.
  void add_warmups() {
    if (queue_.empty() || settings_.warmup == 0) return;
    Experiment first = queue_.front();
    first.warmup = true;
    first.listed = 0;
    queue_.insert(queue_.begin(), settings_.warmup, first);
  }

  void number() {
    for (size_t i = 0; i < queue_.size(); ++i) {
      Experiment& made = queue_[i];
      made.number = i + 1;
      made.folder = fmt::format(
          "{}{}_{:03}{}", made.warmup ? "warmup_" : "",
          file_name(fmt::format("{}_{}", made.training.repository, made.training.model)),
          made.number, made.background ? "_parallel" : "");
    }
  }

  const Settings& settings_;
  const Catalog& catalog_;
  const uint64_t seed_;
  Problems& problems_;
  EntrySettings entry_settings_;
  RepeatSeeds seeds_;
  std::map<std::string, size_t> repeats_;  // of each configuration so far
  std::vector<Experiment> queue_;
};

// "toy/good", and the values that are no nuisance.
std::string text_of_load(const Load& load, const Catalog& catalog) {
  std::string text = fmt::format("{}/{}:", load.repository, load.model);
  const Repository* repository = catalog.find(load.repository);
  if (repository == nullptr) return text;
  for (const Hyperparameter& parameter : repository->hyperparameters) {
    const Value* value = load.values.find(parameter.name);
    if (value == nullptr || parameter.nuisance) continue;
    text += fmt::format(" {}={}", parameter.name, text_of(*value));
  }
  return text;
}

}  // namespace

std::string_view mode_word(const Experiment& experiment) {
  if (experiment.background) return "parallel";
  return experiment.varied ? "mutation" : "default";
}

std::string configuration_of(const Experiment& experiment, const Catalog& catalog) {
  std::string text = text_of_load(experiment.training, catalog);
  if (experiment.background) text += " beside " + text_of_load(*experiment.background, catalog);
  return text;
}

void complete_queue(std::vector<Experiment>& queue, const Catalog& catalog) {
  std::map<std::string, size_t> repeats;
  for (Experiment& experiment : queue) {
    if (!experiment.configuration.empty()) continue;
    experiment.configuration = configuration_of(experiment, catalog);
    experiment.repeat = ++repeats[experiment.configuration];
    experiment.listed = experiment.number;
  }
}

void name_experiments(std::vector<Experiment>& queue, const std::string& run) {
  for (Experiment& experiment : queue) {
    experiment.id = fmt::format("{}__{}", run, experiment.folder);
  }
}

std::vector<Experiment> make_queue(const Settings& settings, const Catalog& catalog,
                                   const std::vector<PastRun>& history, uint64_t seed,
                                   Problems& problems) {
  return QueueMaker(settings, catalog, history, seed, problems).make();
}

namespace {

// The old key: runs_per_config of an entry that varies nothing.
bool runs_the_same(const SettingsEntry& entry) {
  return !entry.foreground.mutation && entry.runs.value_or(1) > 1;
}

}  // namespace

std::string describe_plan(const Settings& settings, const std::vector<Experiment>& queue) {
  std::vector<size_t> counts(settings.entries.size());
  size_t warmups = 0;
  for (const Experiment& experiment : queue) {
    ++(experiment.warmup ? warmups : counts.at(experiment.entry));
  }
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i) {
    const SettingsEntry& entry = settings.entries[i];
    const Training& training = entry.foreground;
    const std::string place =
        entry.line == 0 ? settings.file : fmt::format("{}:{}", settings.file, entry.line);
    text += fmt::format(
        "  {:>4}  {}/{} {}{}{}{}  ({})\n", counts[i], training.repository, training.model,
        training.mutation ? name(training.design.kind) : "default",
        entry.background
            ? fmt::format(" beside {}/{}", entry.background->repository, entry.background->model)
            : "",
        entry.repeats > 1      ? fmt::format(", {} repeats of each setting", entry.repeats)
        : runs_the_same(entry) ? ", the same values each time"
                               : "",
        entry.baseline_runs > 0 ? fmt::format(", {} of them baselines", entry.baseline_runs) : "",
        place);
  }
  text += fmt::format("  {:>4}  experiments in all", queue.size() - warmups);
  if (warmups > 0) text += " after " + counted(warmups, "warm-up");
  if (settings.order != Order::as_listed) text += fmt::format("; order {}", name(settings.order));
  return text + "\n";
}

}  // namespace plimsoll::experiment
