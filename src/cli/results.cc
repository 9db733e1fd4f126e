// plimsoll results: what one or several runs found, from their journals. The answers themselves are
// made in the room `answer`.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "answer/comparison.h"
#include "answer/condition.h"
#include "answer/configuration.h"
#include "answer/importance_answer.h"
#include "answer/means_output.h"
#include "answer/pareto_answer.h"
#include "answer/results_table.h"
#include "base/json.h"
#include "base/print.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/live_lines.h"
#include "cli/training_view.h"
#include "experiment/batch.h"
#include "experiment/json_reader.h"
#include "experiment/outputs.h"
#include "experiment/run_folder.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using answer::Configurations;
using answer::Outcome;

constexpr const char* kAnswers = "Answers";

struct Options {
  std::vector<fs::path> folders;
  std::vector<fs::path> merge;
  bool csv = false;
  bool json = false;
  bool latex = false;
  bool means = false;
  std::vector<std::string> columns;
  std::string sort;
  std::string where;
  std::vector<std::string> compare;
  std::string over;
  std::vector<std::string> pareto;
  bool importance = false;
  std::optional<double> difference;
  std::optional<double> grams_per_kwh;
  std::string price;

  bool for_batches_only() const {
    return csv || json || latex || means || importance || difference || grams_per_kwh ||
           !merge.empty() || !columns.empty() || !compare.empty() || !pareto.empty() ||
           !(sort + where + over + price).empty();
  }
};

// The experiments of all runs, in order. They are numbered consecutively across runs; ids stay.
struct Merged {
  experiment::Catalog catalog;
  std::vector<Outcome> finished;
  size_t unfinished = 0;
  std::optional<experiment::Objective> objective;  // of the first run that states one
};

// What the files look for; of several entries, the first that says it.
std::optional<experiment::Objective> stated_objective(const experiment::ExperimentBatch& batch) {
  for (const auto& entry : batch.settings.entries) {
    const auto* repository = batch.catalog.find(entry.foreground.repository);
    if (repository == nullptr) continue;
    const auto terms = experiment::merged(repository->terms, entry.terms);
    if (terms.objective) return terms.objective;
  }
  return std::nullopt;
}

void add_run(const fs::path& folder, Merged& merged) {
  const experiment::KnownRun run = experiment::read_run(folder);
  experiment::Problems ignored(experiment::KeyPolicy::lenient);
  const auto source = experiment::source_of(run.settings);
  experiment::ExperimentBatch batch = experiment::read_batch(source, ignored);
  experiment::Catalog& catalog = batch.catalog;
  experiment::look_after_files(run, catalog);
  if (!merged.objective) merged.objective = stated_objective(batch);
  for (auto& repository : catalog.repositories) {
    if (merged.catalog.find(repository.name) == nullptr) {
      merged.catalog.repositories.push_back(std::move(repository));
    }
  }
  for (size_t i = 0; i < run.entries.size(); ++i) {
    if (run.queue[i].warmup) continue;
    if (run.entries[i].result.empty()) {
      ++merged.unfinished;
      continue;
    }
    Outcome finished{.experiment = run.queue[i],
                     .result = experiment::result_of(run.entries[i].result)};
    finished.experiment.number = merged.finished.size() + 1;
    merged.finished.push_back(std::move(finished));
  }
}

// The folders of the runs, without duplicates.
std::vector<fs::path> runs_of(const Options& options) {
  std::vector<fs::path> named = options.folders;
  if (named.empty()) named.push_back(experiment::newest_run());
  named.insert(named.end(), options.merge.begin(), options.merge.end());
  std::vector<fs::path> runs;
  for (const auto& name : named) {
    auto run = fs::weakly_canonical(name);
    if (std::find(runs.begin(), runs.end(), run) == runs.end()) runs.push_back(std::move(run));
  }
  return runs;
}

std::string table(const Merged& merged) {
  std::vector<experiment::Experiment> queue;
  queue.reserve(merged.finished.size());
  for (const Outcome& one : merged.finished) queue.push_back(one.experiment);
  experiment::SummaryTable summary(queue, merged.catalog);
  for (const Outcome& one : merged.finished) summary.set(one.experiment, one.result);
  return summary.text();
}

nlohmann::ordered_json experiments_json(const Merged& merged) {
  auto all = nlohmann::ordered_json::array();
  for (const auto& [made, result] : merged.finished) {
    all.push_back(read_json<nlohmann::ordered_json>(
        experiment::experiment_json(made, result, {result.last}), made.folder));
  }
  return all;
}

// "0.30" or "0.30 EUR".
void read_price(const std::string& text, answer::EnergyPrices& prices) {
  if (text.empty()) return;
  size_t used = 0;
  try {
    prices.price_per_kwh = std::stod(text, &used);
  } catch (const std::exception&) {
    fail(ErrorKind::usage, "--price {}: give a number and, if you like, a currency: 0.30 EUR",
         text);
  }
  if (!(*prices.price_per_kwh >= 0)) fail(ErrorKind::usage, "--price {}: less than 0", text);
  const size_t word = text.find_first_not_of(' ', used);
  if (word != std::string::npos) prices.currency = text.substr(word);
}

// Options that exclude each other, and options that would have no effect.
void check_words(const Options& options) {
  const auto exclude = [](const std::vector<std::pair<const char*, bool>>& all) {
    std::string first;
    for (const auto& [name, given] : all) {
      if (!given) continue;
      if (!first.empty()) {
        fail(ErrorKind::usage, "{} and {} exclude each other; give one of them", first, name);
      }
      first = name;
    }
    return first;
  };
  const std::string format =
      exclude({{"--csv", options.csv}, {"--json", options.json}, {"--latex", options.latex}});
  const std::string asked = exclude({{"--compare", !options.compare.empty()},
                                     {"--over", !options.over.empty()},
                                     {"--pareto", !options.pareto.empty()},
                                     {"--importance", options.importance}});
  if (!asked.empty() && (options.csv || options.latex)) {
    fail(ErrorKind::usage, "{} prints text or --json, not {}", asked, format);
  }
  if (options.means && (!(options.csv || options.json) || !asked.empty())) {
    fail(ErrorKind::usage, "--means goes with --csv or --json: one line per configuration");
  }
  const bool experiments = (options.csv || options.json) && !options.means && asked.empty();
  if (experiments && (!options.columns.empty() || !options.sort.empty())) {
    fail(ErrorKind::usage,
         "{} has all columns, one line per experiment in the order of the queue; "
         "--sort needs --means, --columns the table",
         format);
  }
  if (!options.columns.empty() && options.means) {
    fail(ErrorKind::usage, "--means prints all columns; leave --columns out");
  }
  if (options.difference && options.compare.empty() && options.over.empty()) {
    fail(ErrorKind::usage, "--difference goes with --compare or --over");
  }
}

// The figures that a comparison is about: --columns, or those given.
std::vector<std::string> figures_for(const Options& options, const Configurations& all,
                                     std::vector<std::string> usual) {
  if (options.columns.empty()) return usual;
  std::vector<std::string> figures;
  for (const std::string& name : options.columns) figures.push_back(aim_of(all, name).figure);
  return figures;
}

std::vector<std::string> aim_and_energy(const answer::Aim& aim, const Configurations& all) {
  std::vector<std::string> figures = {aim.figure};
  const auto known = all.figures();
  const bool energy = std::find(known.begin(), known.end(), answer::kEnergy) != known.end();
  if (energy && aim.figure != answer::kEnergy) figures.emplace_back(answer::kEnergy);
  return figures;
}

template <typename Answer, typename... More>
void show(const Options& options, const Answer& answer, const More&... more) {
  if (options.json) {
    fmt::print("{}\n", to_json(answer).dump(2));
  } else {
    print("{}", describe(answer, more..., terminal_columns(STDOUT_FILENO).value_or(0)));
  }
}

void answer_over(const Options& options, const Configurations& all, const answer::Aim& aim) {
  show(options,
       answer::compare(groups_over(all, options.over),
                       figures_for(options, all, aim_and_energy(aim, all)), options.difference));
  std::string mixed;
  for (const std::string& other : varying_parameters(all)) {
    if (other != options.over) mixed += (mixed.empty() ? "" : ", ") + other;
  }
  if (!mixed.empty() && !options.json) {
    print("the groups mix experiments with different {}; --where keeps them fixed\n", mixed);
  }
}

// Whether one of the options asks for a special answer; then it is printed.
bool answered(const Options& options, const Configurations& all, const answer::Aim& aim) {
  if (!options.compare.empty()) {
    show(options, answer::compare({select_group(all, "A", options.compare[0]),
                                   select_group(all, "B", options.compare[1])},
                                  figures_for(options, all, all.figures()), options.difference));
  } else if (!options.over.empty()) {
    answer_over(options, all, aim);
  } else if (!options.pareto.empty()) {
    const answer::Aim first = aim_of(all, options.pareto[0]);
    const answer::Aim second = aim_of(all, options.pareto[1]);
    if (first.figure == second.figure) {
      fail(ErrorKind::usage, "--pareto needs two different figures, not {} twice", first.figure);
    }
    show(options, pareto_of(all, first, second), all);
  } else if (options.importance) {
    show(options, importance_of(all, figures_for(options, all, aim_and_energy(aim, all))));
  } else {
    return false;
  }
  return true;
}

void print_table(const Options& options, const Configurations& all, const answer::Aim& aim) {
  const answer::ResultsView view{
      .aim = aim,
      .columns = options.columns,
      .most_columns = options.latex ? 0 : terminal_columns(STDOUT_FILENO).value_or(0)};
  const answer::TextTable lines = results_table(all, view);
  if (options.latex) {
    fmt::print("{}", latex_of(lines));
    return;
  }
  const bool one_training = std::ranges::all_of(all.all, [&](const auto& one) {
    return one.repository == all.all.front().repository && one.model == all.all.front().model;
  });
  print(
      "{}{}\n\n{}\n",
      one_training ? fmt::format("{}/{}, ", all.all.front().repository, all.all.front().model) : "",
      describe_counts(all), text_of(lines));
  for (const std::string& note : notes_of(all, view, lines)) print("{}\n", note);
}

void print_results(const Options& options) {
  check_words(options);
  if (const auto training = std::ranges::find_if(options.folders, is_training_folder);
      training != options.folders.end()) {
    if (options.folders.size() > 1) {
      fail(ErrorKind::usage,
           "{} is a training; results shows one at a time, and plimsoll compare A B shows two",
           training->string());
    }
    if (options.for_batches_only()) {
      fail(
          ErrorKind::usage,
          "{} is a training; options about tables and comparisons are for batches. Its figures are "
          "in results.json, and plimsoll compare A B compares two trainings",
          training->string());
    }
    print_training(*training);
    return;
  }
  Merged merged;
  for (const auto& run : runs_of(options)) add_run(run, merged);
  answer::EnergyPrices prices{.grams_per_kwh = options.grams_per_kwh};
  read_price(options.price, prices);
  Configurations all = group(merged.finished, merged.catalog, prices);
  all.unfinished = merged.unfinished;
  all.objective = merged.objective;
  if (!options.where.empty() && !all.all.empty()) {
    const auto conditions = answer::parse_conditions(options.where, all);
    keep_only(all, [&](const auto& one) { return meets_all(one, conditions); });
    std::vector<Outcome> kept;
    for (const auto& one : all.all) {
      for (const size_t member : one.members) kept.push_back(merged.finished[member]);
    }
    std::ranges::sort(kept, {}, [](const Outcome& one) { return one.experiment.number; });
    merged.finished = std::move(kept);
  }
  if (options.csv && !options.means) {
    fmt::print("{}", table(merged));
    return;
  }
  const bool asked = !options.compare.empty() || !options.over.empty() || !options.pareto.empty() ||
                     options.importance;
  if (options.json && !options.means && !asked) {
    fmt::print("{}\n", experiments_json(merged).dump(2));
    return;
  }
  if (all.all.empty() && !options.means) {
    if (!options.where.empty()) {
      fail(ErrorKind::usage, "--where {}: no experiment meets it", options.where);
    }
    fmt::print("nothing has finished yet; experiments left: {}\n", merged.unfinished);
    return;
  }
  const answer::Aim aim = aim_of(all, options.sort);
  sort_by(all, aim);
  if (options.means) {
    fmt::print("{}", options.csv ? means_csv(all) : means_json(all).dump(2) + "\n");
  } else if (!answered(options, all, aim)) {
    print_table(options, all, aim);
  }
}

void add_table_options(CLI::App& command, Options& options) {
  command
      .add_option("--columns", options.columns,
                  "show these columns, as a,b,c; or all, however wide; default: what fits")
      ->delimiter(',')
      ->type_name("LIST")
      ->group(kOutput);
  command
      .add_option("--sort", options.sort,
                  "put the best of this figure first; with :min or :max if its name misleads; "
                  "default: the first metric")
      ->type_name("FIGURE")
      ->group(kOutput);
  command
      .add_option("--where", options.where,
                  "only configurations that meet these conditions, as learning_rate<0.01,model=x")
      ->type_name("CONDITIONS")
      ->group(kOutput);
  command.add_flag("--csv", options.csv, "print a CSV table, one line per experiment")
      ->group(kOutput);
  add_json(command, options.json);
  command.add_flag("--latex", options.latex, "print the table for LaTeX")->group(kOutput);
  command
      .add_flag("--means", options.means,
                "with --csv or --json: one line per configuration, with mean, sd and n")
      ->group(kOutput);
  command
      .add_option("--grams-per-kwh", options.grams_per_kwh,
                  "also show CO2: the grams that a kWh has where you are")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N")
      ->group(kOutput);
  command
      .add_option("--price", options.price,
                  "also show the cost: the price of a kWh, as 0.30 or \"0.30 EUR\"")
      ->type_name("PRICE")
      ->group(kOutput);
}

void add_answer_options(CLI::App& command, Options& options) {
  command
      .add_option("--compare", options.compare,
                  "compare two configurations: numbers of the table, or conditions as in --where")
      ->expected(2)
      ->allow_extra_args(false)  // what follows is a run
      ->type_name("A B")
      ->group(kAnswers);
  command
      .add_option("--over", options.over,
                  "compare the values of this parameter, pair by pair; also model, repo, beside")
      ->type_name("PARAMETER")
      ->group(kAnswers);
  command
      .add_option("--difference", options.difference,
                  "with --compare or --over: how many more repeats show a difference of X")
      ->check(CLI::PositiveNumber)
      ->type_name("X")
      ->group(kAnswers);
  command
      .add_option("--pareto", options.pareto,
                  "configurations that no other beats in both figures, as accuracy energy")
      ->expected(2)
      ->allow_extra_args(false)  // what follows is a run
      ->type_name("FIGURE FIGURE")
      ->group(kAnswers);
  command
      .add_flag("--importance", options.importance,
                "which parameter explains the spread of the metric and of the energy")
      ->group(kAnswers);
}

}  // namespace

void add_results(CLI::App& app) {
  CLI::App* command = app.add_subcommand("results", "Show the results of batches");
  auto options = std::make_shared<Options>();
  command->add_option(
      "RUN", options->folders,
      "folders of runs, or the --save-dir of a training; default: the newest run under "
      "./results");
  command
      ->add_option("--merge", options->merge, "add these runs to the given ones, or to the newest")
      ->type_name("RUN");
  add_table_options(*command, *options);
  add_answer_options(*command, *options);
  command->footer(
      R"(Prints a table, best first: mean and standard deviation of each configuration over all given
runs. Experiments that differ only in their seed are repeats of one configuration.
docs/answers.md explains the figures and tests.

Examples:
  plimsoll results
  plimsoll results results/run_20261115_081500 results/run_20261116_090000 --csv
  plimsoll results --sort accuracy --where "batch_size>=64" --columns learning_rate,accuracy,energy
  plimsoll results --compare 1 3
  plimsoll results --over learning_rate --difference 0.01
  plimsoll results --pareto accuracy energy)");
  command->callback([options] { print_results(*options); });
}

}  // namespace plimsoll::cli
