// plimsoll results: the results of one or several runs, from their journals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/print.h"
#include "base/units.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "experiment/batch.h"
#include "experiment/energy_outputs.h"
#include "experiment/json_reader.h"
#include "experiment/outputs.h"
#include "experiment/run_folder.h"

namespace plimsoll::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> folders;
  std::vector<std::filesystem::path> merge;
  bool csv = false;
  bool json = false;
};

struct Finished {
  experiment::Experiment experiment;
  experiment::ExperimentResult result;
};

// The experiments of all runs, in order. They are numbered consecutively across runs; ids stay.
struct Merged {
  experiment::Catalog catalog;
  std::vector<Finished> finished;
  size_t unfinished = 0;
};

void add_run(const std::filesystem::path& folder, Merged& merged) {
  const experiment::KnownRun run = experiment::read_run(folder);
  experiment::Problems ignored(experiment::KeyPolicy::lenient);
  const auto source = experiment::source_of(run.settings);
  experiment::Catalog catalog = experiment::read_batch(source, ignored).catalog;
  experiment::look_after_files(run, catalog);
  for (auto& repository : catalog.repositories) {
    if (merged.catalog.find(repository.name) == nullptr) {
      merged.catalog.repositories.push_back(std::move(repository));
    }
  }
  for (size_t i = 0; i < run.entries.size(); ++i) {
    if (run.entries[i].result.empty()) {
      ++merged.unfinished;
      continue;
    }
    Finished finished{.experiment = run.queue[i],
                      .result = experiment::result_of(run.entries[i].result)};
    finished.experiment.number = merged.finished.size() + 1;
    merged.finished.push_back(std::move(finished));
  }
}

std::string table(const Merged& merged) {
  std::vector<experiment::Experiment> queue;
  queue.reserve(merged.finished.size());
  for (const Finished& one : merged.finished) queue.push_back(one.experiment);
  experiment::SummaryTable summary(queue, merged.catalog);
  for (const Finished& one : merged.finished) summary.set(one.experiment, one.result);
  return summary.text();
}

struct Spread {
  std::vector<double> numbers;
  std::map<std::string, size_t> not_numbers;  // "nan", "inf", "-inf": how often
  void add(double number) {
    if (std::isfinite(number)) {
      numbers.push_back(number);
    } else {
      ++not_numbers[std::isnan(number) ? "nan" : fmt::format("{}", number)];
    }
  }
  // "0.913 ± 1.2 %, nan 1 time": mean and coefficient of variation of the finite values, and how
  // often nan and inf occur.
  std::string text() const {
    if (numbers.empty() && not_numbers.empty()) return "-";
    std::string text = numbers.empty() ? "" : mean_and_variation();
    for (const auto& [name, times] : not_numbers) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
      if (numbers.size() + times > 1) {
        text += fmt::format(" {} time{}", times, times == 1 ? "" : "s");
      }
    }
    return text;
  }

 private:
  std::string mean_and_variation() const {
    double sum = 0;
    for (const double number : numbers) sum += number;
    const double mean = sum / static_cast<double>(numbers.size());
    if (numbers.size() < 2 || mean == 0) return fmt::format("{:.5g}", mean);
    double squares = 0;
    for (const double number : numbers) squares += (number - mean) * (number - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(numbers.size() - 1));
    return fmt::format("{:.5g} ± {}", mean, format_percent(deviation / std::abs(mean)));
  }
};

constexpr double kWhole = 0.9995;  // coverage that is printed as 100 %

// The energy of one configuration: figures of its successful runs, with coverage and quality.
struct EnergySpread {
  std::map<std::string, Spread> figures;
  size_t shared = 0;
  double least_coverage = 1;
  std::set<std::string> missing;  // "CPU: there is no counter"
  bool measured = false;          // a figure exists, maybe only of a failed run

  void add(const experiment::AttemptResult& attempt, bool success) {
    if (!attempt.energy) return;
    const energy::EnergyReport& report = *attempt.energy;
    note_missing("CPU", report.cpu.total);
    note_missing("GPU", report.all_gpus);
    if (!success) return;
    for (const auto& [name, value] : experiment::energy_to_compare(attempt)) {
      figures[name].add(value);
    }
    bool is_shared = false;
    for (const auto* figure : {&report.cpu.total, &report.all_gpus}) {
      is_shared = is_shared || figure->quality == energy::Quality::shared;
      if (figure->joules) least_coverage = std::min(least_coverage, figure->coverage);
    }
    shared += is_shared ? 1 : 0;
  }
  // `said_later`: reasons that apply to every configuration; they are printed once at the end.
  std::string text(const std::set<std::string>& said_later) const {
    std::string text = figures.empty() ? without_figures() : figures_text();
    std::string separator = figures.empty() && !measured ? ": " : "; unavailable: ";
    for (const std::string& reason : missing) {
      if (said_later.contains(reason)) continue;
      text += separator + reason;
      separator = "; ";
    }
    return text;
  }

 private:
  void note_missing(const char* what, const energy::Figure& figure) {
    measured = measured || figure.joules;
    if (!figure.joules) missing.insert(fmt::format("{}: {}", what, figure.reason));
  }
  std::string without_figures() const {
    if (measured) return "no successful run; experiment.json has the energy of the failed ones";
    return missing.empty() ? "not measured" : "unavailable";
  }
  std::string figures_text() const {
    std::string text;
    for (const auto& [name, spread] : figures) {
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", name, spread.text());
    }
    if (least_coverage < kWhole) {
      text += fmt::format("; lowest coverage {}", format_percent(least_coverage));
    }
    if (shared > 0) text += fmt::format("; {} shared with others", shared);
    return text;
  }
};

struct Configuration {
  size_t runs = 0;
  size_t succeeded = 0;
  std::map<std::string_view, size_t> causes;  // of failed runs
  Spread seconds;
  std::map<std::string, Spread> metrics;
  EnergySpread energy;
};

// " beside toy/busy (epochs 3)". Runs with different background loads are different configurations.
std::string beside(const experiment::Experiment& made) {
  if (!made.background) return "";
  const experiment::Load& load = *made.background;
  return fmt::format(" beside {}/{} ({})", load.repository, load.model, describe(load.values));
}

using Configurations = std::map<std::string, Configuration>;

Configurations configurations_of(const Merged& merged) {
  Configurations all;
  for (const auto& [made, result] : merged.finished) {
    Configuration& one =
        all[fmt::format("{}/{}{}: {}", made.training.repository, made.training.model, beside(made),
                        describe(result.last.values))];
    ++one.runs;
    one.energy.add(result.last, result.success);
    if (!result.success) {
      ++one.causes[diagnosis::name(result.last.cause)];
      continue;
    }
    ++one.succeeded;
    one.seconds.add(result.last.seconds);
    for (const auto& [name, value] : result.last.metrics) one.metrics[name].add(value.number);
  }
  return all;
}

// "2 of 5 succeeded (failed 2, timed_out 1); seconds 3.1".
std::string describe(const Configuration& one) {
  std::string text = fmt::format("{} of {} succeeded", one.succeeded, one.runs);
  for (const auto& [cause, times] : one.causes) {
    text += fmt::format("{}{} {}", cause == one.causes.begin()->first ? " (" : ", ", cause, times);
  }
  if (!one.causes.empty()) text += ")";
  if (one.succeeded > 0) text += "; seconds " + one.seconds.text();
  for (const auto& [metric, spread] : one.metrics) {
    text += fmt::format("; {} {}", metric, spread.text());
  }
  return text;
}

// Reasons that apply to all configurations, such as a machine without counters. They are printed
// only once.
std::set<std::string> missing_everywhere(const Configurations& all) {
  std::map<std::string, size_t> times;
  for (const auto& [name, one] : all) {
    for (const std::string& reason : one.energy.missing) ++times[reason];
  }
  std::set<std::string> everywhere;
  for (const auto& [reason, count] : times) {
    if (count == all.size()) everywhere.insert(reason);
  }
  return everywhere;
}

void print_configurations(const Merged& merged) {
  const Configurations all = configurations_of(merged);
  const std::set<std::string> missing = missing_everywhere(all);
  for (const auto& [name, one] : all) {
    print("{}\n  {}\n  energy: {}\n", name, describe(one), one.energy.text(missing));
  }
  for (const std::string& reason : missing) print("energy unavailable, {}\n", reason);
}

// The folders of the runs, without duplicates.
std::vector<std::filesystem::path> runs_of(const Options& options) {
  std::vector<std::filesystem::path> named = options.folders;
  if (named.empty()) named.push_back(experiment::newest_run());
  named.insert(named.end(), options.merge.begin(), options.merge.end());
  std::vector<std::filesystem::path> runs;
  for (const auto& name : named) {
    auto run = std::filesystem::weakly_canonical(name);
    if (std::find(runs.begin(), runs.end(), run) == runs.end()) runs.push_back(std::move(run));
  }
  return runs;
}

void print_results(const Options& options) {
  if (options.csv && options.json) {
    fail(ErrorKind::usage, "--csv and --json exclude each other; give one of them");
  }
  Merged merged;
  for (const auto& run : runs_of(options)) add_run(run, merged);
  if (options.csv) {
    fmt::print("{}", table(merged));
  } else if (options.json) {
    auto all = nlohmann::ordered_json::array();
    for (const auto& [made, result] : merged.finished) {
      all.push_back(read_json<nlohmann::ordered_json>(
          experiment::experiment_json(made, result, {result.last}), made.folder));
    }
    fmt::print("{}\n", all.dump(2));
  } else if (merged.finished.empty()) {
    fmt::print("nothing has finished yet; experiments left: {}\n", merged.unfinished);
  } else {
    print_configurations(merged);
  }
}

}  // namespace

void add_results(CLI::App& app) {
  CLI::App* command = app.add_subcommand("results", "Show the results of batches");
  auto options = std::make_shared<Options>();
  command->add_option("RUN", options->folders,
                      "folders of runs; default: the newest under ./results");
  command
      ->add_option("--merge", options->merge, "add these runs to the given ones, or to the newest")
      ->type_name("RUN");
  command->add_flag("--csv", options->csv, "print a CSV table, one line per experiment")
      ->group(kOutput);
  add_json(*command, options->json);
  command->footer(
      R"(Prints mean and coefficient of variation for each configuration, over all given runs.

Examples:
  plimsoll results
  plimsoll results results/run_20261115_081500 results/run_20261116_090000 --csv)");
  command->callback([options] { print_results(*options); });
}

}  // namespace plimsoll::cli
