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
#include "answer/configuration.h"
#include "answer/exploration.h"
#include "answer/merged_runs.h"
#include "answer/results_table.h"
#include "base/json.h"
#include "base/print.h"
#include "base/terminal.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "experiment/run_folder.h"
#include "report/figures.h"
#include "screen/screen.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using answer::Configurations;

constexpr const char* kAnswers = "Answers";

struct ResultsOptions {
  std::vector<fs::path> folders;
  std::vector<fs::path> merge;
  bool csv = false;
  bool json = false;
  bool latex = false;
  bool means = false;
  bool plot = false;
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

  // Whether they ask for more than the table.
  bool asks() const { return !compare.empty() || !over.empty() || !pareto.empty() || importance; }
  bool for_batches_only() const {
    return csv || json || latex || means || importance || difference || grams_per_kwh ||
           !merge.empty() || !columns.empty() || !compare.empty() || !pareto.empty() ||
           !(sort + where + over + price).empty();
  }
};

// The folders of the runs: those given, or the newest, and those to merge.
std::vector<fs::path> runs_of(const ResultsOptions& options) {
  std::vector<fs::path> named = options.folders;
  if (named.empty()) named.push_back(experiment::newest_run());
  named.insert(named.end(), options.merge.begin(), options.merge.end());
  return named;
}

// Refuses options that exclude each other, and options that would have no effect.
void check_words(const ResultsOptions& options) {
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
  const std::string format = exclude({{"--csv", options.csv},
                                      {"--json", options.json},
                                      {"--latex", options.latex},
                                      {"--plot", options.plot}});
  const std::string asked = exclude({{"--compare", !options.compare.empty()},
                                     {"--over", !options.over.empty()},
                                     {"--pareto", !options.pareto.empty()},
                                     {"--importance", options.importance}});
  if (options.plot && (!asked.empty() || options.means)) {
    fail(ErrorKind::usage, "--plot draws the figures of the table; leave {} out",
         asked.empty() ? "--means" : asked);
  }
  if (!asked.empty() && (options.csv || options.latex)) {
    fail(ErrorKind::usage, "{} prints text or --json, not {}", asked, format);
  }
  if (options.means && (!(options.csv || options.json) || !asked.empty())) {
    fail(ErrorKind::usage, "--means needs --csv or --json");
  }
  const bool experiments = (options.csv || options.json) && !options.means && asked.empty();
  if (experiments && (!options.columns.empty() || !options.sort.empty())) {
    fail(ErrorKind::usage,
         "{0} has all columns, one line per experiment in the order of the queue; "
         "give --means to use --sort, or leave {0} out to use --columns",
         format);
  }
  if (!options.columns.empty() && options.means) {
    fail(ErrorKind::usage, "--means prints all columns; leave --columns out");
  }
  if (options.difference && options.compare.empty() && options.over.empty()) {
    fail(ErrorKind::usage, "--difference needs --compare or --over");
  }
}

template <typename Answer, typename... More>
void show(const ResultsOptions& options, const Answer& answer, const More&... more) {
  if (options.json) {
    print_json(to_json(answer));
  } else {
    print("{}", describe(answer, more..., terminal_columns(STDOUT_FILENO).value_or(0)));
  }
}

void answer_over(const ResultsOptions& options, const Configurations& all, const answer::Aim& aim) {
  show(options, answer::compare(groups_over(all, options.over),
                                figures_named(all, options.columns, aim_and_energy(all, aim)),
                                options.difference));
  if (options.json) return;
  for (const std::string& note : notes_over(all, options.over)) print("{}\n", note);
}

// The answer that one of the options asks for.
void print_answer(const ResultsOptions& options, const Configurations& all,
                  const answer::Aim& aim) {
  if (!options.compare.empty()) {
    show(options,
         answer::compare(named_groups(all, options.compare),
                         figures_named(all, options.columns, all.figures()), options.difference));
  } else if (!options.over.empty()) {
    answer_over(options, all, aim);
  } else if (!options.pareto.empty()) {
    const answer::TwoAims aims = two_aims(all, options.pareto);
    show(options, pareto_of(all, aims.first, aims.second), all);
  } else {
    show(options,
         importance_of(all, figures_named(all, options.columns, aim_and_energy(all, aim))));
  }
}

void print_table(const ResultsOptions& options, const Configurations& all, const answer::Aim& aim) {
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

// A folder of a training among the given ones; null if all are batches.
const fs::path* given_training(const ResultsOptions& options) {
  const auto found = std::ranges::find_if(options.folders, screen::is_training_folder);
  if (found == options.folders.end()) return nullptr;
  if (options.folders.size() > 1) {
    fail(ErrorKind::usage,
         "{} is a training; results shows one at a time, and plimsoll compare A B shows two",
         found->string());
  }
  if (options.for_batches_only()) {
    fail(ErrorKind::usage,
         "{} is a training; options about tables and comparisons are for batches. Its figures are "
         "in results.json, and plimsoll compare A B compares two trainings",
         found->string());
  }
  return &*found;
}

// One line or object per experiment.
void print_experiments(const ResultsOptions& options, const answer::MergedRuns& merged) {
  if (options.csv) {
    fmt::print("{}", experiments_csv(merged));
  } else {
    print_json(experiments_json(merged));
  }
}

void print_results(const ResultsOptions& options) {
  check_words(options);
  if (const fs::path* training = given_training(options)) {
    screen::print_training(*training);
    if (options.plot) {
      screen::print_plots(report::epoch_charts(launch::read_trainings(*training).front()));
    }
    return;
  }
  answer::EnergyPrices prices{.grams_per_kwh = options.grams_per_kwh};
  set_price(prices, options.price);
  answer::MergedRuns merged = answer::merge_runs(runs_of(options));
  Configurations all = configurations_of(merged, prices);
  keep_where(options.where, merged, all);
  if (!options.means && (options.csv || (options.json && !options.asks()))) {
    return print_experiments(options, merged);
  }
  if (all.all.empty() && !options.means) {
    if (!options.where.empty()) {
      fail(ErrorKind::usage, "--where {}: no experiment meets it", options.where);
    }
    fmt::print("nothing has finished yet; experiments left: {}\n", merged.unfinished);
    return;
  }
  for (const std::string& note : notes_on_prices(all)) print_to(stderr, "{}\n", note);
  const answer::Aim aim = aim_of(all, options.sort);
  sort_by(all, aim);
  if (options.means) {
    fmt::print("{}", options.csv ? means_csv(all) : json_text(means_json(all)) + "\n");
  } else if (options.asks()) {
    print_answer(options, all, aim);
  } else {
    print_table(options, all, aim);
    if (options.plot) screen::print_plots(screen::parameter_charts(all, aim));
  }
}

void add_table_options(CLI::App& command, ResultsOptions& options) {
  command
      .add_option("--columns", options.columns,
                  "show these columns, as a,b,c; or all, however wide; default: what fits")
      ->delimiter(',')
      ->type_name("LIST")
      ->group(kOutput);
  command
      .add_option("--sort", options.sort,
                  "put the best of this figure first; append :min or :max to say which is best; "
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
  add_plot(command, options.plot);
  command.add_flag("--latex", options.latex, "print the table for LaTeX")->group(kOutput);
  command
      .add_flag("--means", options.means,
                "with --csv or --json: one line per configuration, with mean, sd and n")
      ->group(kOutput);
  command
      .add_option("--grams-per-kwh", options.grams_per_kwh,
                  "also show CO2, at so many grams per kWh")
      ->check(number_from_zero())
      ->type_name("N")
      ->group(kOutput);
  command
      .add_option("--price", options.price,
                  "also show the cost: the price of a kWh, as 0.30 or \"0.30 EUR\"")
      ->type_name("PRICE")
      ->group(kOutput);
}

void add_answer_options(CLI::App& command, ResultsOptions& options) {
  command
      .add_option("--compare", options.compare,
                  "compare two configurations: numbers of the table, or conditions as in --where")
      ->expected(0, 2)           // fewer are asked for with the names that exist
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
      ->check(positive_number())
      ->type_name("X")
      ->group(kAnswers);
  command
      .add_option("--pareto", options.pareto,
                  "configurations that no other beats in both figures, as accuracy energy")
      ->expected(0, 2)           // fewer are asked for with the names that exist
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
  auto options = std::make_shared<ResultsOptions>();
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
docs/reference/answers.md explains the figures and tests.

Examples:
  plimsoll results
  plimsoll results results/run_20261115_081500 results/run_20261116_090000 --csv
  plimsoll results --sort accuracy --where "batch_size>=64" --columns learning_rate,accuracy,energy
  plimsoll results --compare 1 3
  plimsoll results models/ --plot
  plimsoll results --over learning_rate --difference 0.01
  plimsoll results --pareto accuracy energy)");
  command->callback([options] { print_results(*options); });
}

}  // namespace plimsoll::cli
