#include "experiment/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "experiment/draw.h"
#include "io/checksum.h"

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

Values fixed_values(const Training& training, const Repository& repository) {
  Values values = repository.defaults();
  for (const auto& [name, value] : training.fixed.all) values.set(name, value);
  return values;
}

struct Combinations {
  uint64_t all = 0;  // besides the combination of all defaults
  uint64_t drawn = 0;
  uint64_t in_history = 0;
};

// "toy/good asks for 9 combinations, 4 are left and run: its ranges have 11 besides the defaults, 2
// are drawn by other entries, 5 are in the history"
std::string few_left(const Training& training, uint64_t asked, const Combinations& found) {
  std::string text = fmt::format(
      "{}/{} asks for {} combinations, {} are left and run: its ranges have {} besides "
      "the defaults",
      training.repository, training.model, asked, found.all - found.drawn - found.in_history,
      found.all);
  if (found.drawn > 0) text += fmt::format(", {} are drawn by earlier entries", found.drawn);
  if (found.in_history > 0) text += fmt::format(", {} are in the history", found.in_history);
  return text;
}

// The combinations drawn so far for one training, shared by all entries that vary it.
using Drawn = std::map<std::tuple<std::string, std::string, bool>, std::vector<Values>>;

class QueueMaker {
 public:
  QueueMaker(const Settings& settings, const Catalog& catalog, const std::vector<PastRun>& history,
             uint64_t seed, Problems& problems)
      : settings_(settings),
        catalog_(catalog),
        history_(history),
        seed_(seed),
        problems_(problems) {}

  std::vector<Experiment> make() {
    uint64_t total = 0;
    for (const SettingsEntry& entry : settings_.entries) total += entry.experiments();
    if (total > kMostExperiments) {
      problems_.error(settings_.file, 0,
                      fmt::format("it asks for {} experiments; a batch has at most {}", total,
                                  kMostExperiments));
      return {};
    }
    for (size_t i = 0; i < settings_.entries.size(); ++i) add_entry(i);
    if (queue_.empty() && problems_.errors() == 0) {
      problems_.error(settings_.file, 0, "no combination is left: there is nothing to run");
    }
    return std::move(queue_);
  }

 private:
  void add_entry(size_t index) {
    const SettingsEntry& entry = settings_.entries[index];
    const Training& training = entry.foreground;
    const Repository& repository = *catalog_.find(training.repository);
    for (uint64_t i = 0; i < entry.baseline_runs; ++i) {
      add(index, "default", repository.defaults());
    }
    if (training.mutation) {
      add_draws(index, repository);
      return;
    }
    for (uint64_t i = 0; i < entry.runs; ++i) {
      add(index, "default", fixed_values(training, repository));
    }
  }

  void add_draws(size_t index, const Repository& repository) {
    const SettingsEntry& entry = settings_.entries[index];
    const Training& training = entry.foreground;
    Drawer drawer(repository, training.mutate, fixed_values(training, repository), seed_, index);
    const bool parallel = entry.background.has_value();
    auto& drawn = drawn_[{training.repository, training.model, parallel}];
    const auto all = drawer.left();
    for (const Values& values : drawn) drawer.forbid(values);
    const auto unused = drawer.left();
    if (settings_.deduplicate) {
      for (const PastRun& run : history_) {
        if (run.repository == training.repository && run.model == training.model &&
            run.parallel == parallel) {
          drawer.forbid(values_of(run, repository.defaults()));
        }
      }
    }
    const auto left = drawer.left();
    if (left && *left < entry.runs) {
      problems_.warning(settings_.file, entry.line,
                        few_left(training, entry.runs, {*all, *all - *unused, *unused - *left}));
    }
    for (uint64_t i = 0; i < entry.runs; ++i) {
      const auto values = drawer.next();
      if (!values) break;
      drawn.push_back(*values);
      add(index, "mutation", *values);
    }
  }

  void add(size_t index, const std::string& mode, Values values) {
    const SettingsEntry& entry = settings_.entries[index];
    Experiment made{.number = queue_.size() + 1, .mode = mode, .entry = index};
    made.training = {.repository = entry.foreground.repository,
                     .model = entry.foreground.model,
                     .values = std::move(values)};
    if (entry.background) {
      made.background = Load{
          .repository = entry.background->repository,
          .model = entry.background->model,
          .values = fixed_values(*entry.background, *catalog_.find(entry.background->repository))};
    }
    made.folder =
        fmt::format("{}_{:03}{}",
                    file_name(fmt::format("{}_{}", made.training.repository, made.training.model)),
                    made.number, made.background ? "_parallel" : "");
    queue_.push_back(std::move(made));
  }

  const Settings& settings_;
  const Catalog& catalog_;
  const std::vector<PastRun>& history_;
  const uint64_t seed_;
  Problems& problems_;
  Drawn drawn_;
  std::vector<Experiment> queue_;
};

}  // namespace

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

std::string describe_plan(const Settings& settings, const std::vector<Experiment>& queue) {
  std::vector<size_t> counts(settings.entries.size());
  for (const Experiment& experiment : queue) ++counts.at(experiment.entry);
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i) {
    const SettingsEntry& entry = settings.entries[i];
    const Training& training = entry.foreground;
    const std::string place =
        entry.line == 0 ? settings.file : fmt::format("{}:{}", settings.file, entry.line);
    text += fmt::format(
        "  {:>4}  {}/{} {}{}{}  ({})\n", counts[i], training.repository, training.model,
        training.mutation ? "mutation" : "default",
        entry.background
            ? fmt::format(" beside {}/{}", entry.background->repository, entry.background->model)
            : "",
        entry.baseline_runs > 0 ? fmt::format(", {} of them baselines", entry.baseline_runs) : "",
        place);
  }
  return text + fmt::format("  {:>4}  experiments in all\n", queue.size());
}

}  // namespace plimsoll::experiment
