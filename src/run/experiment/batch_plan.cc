#include "experiment/batch_plan.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "base/print.h"
#include "base/units.h"
#include "experiment/expected_time.h"

namespace plimsoll::experiment {
namespace {

using experiment::BatchTexts;
using experiment::Experiment;
using experiment::ExperimentBatch;
using experiment::Hyperparameter;

std::string command_line(const ExperimentBatch& batch, const BatchTexts& source,
                         const experiment::Load& load) {
  const auto& repository = *batch.catalog.find(load.repository);
  const auto folder = experiment::folder_of(repository, source).lexically_normal();
  std::string line = fmt::format("cd {} &&", experiment::shell_word(folder.string()));
  for (const auto& word : training_command(repository, load.model, load.values)) {
    line += " " + experiment::shell_word(word);
  }
  return line;
}

// "epochs int 10, 5 to 15": as they are drawn.
std::string describe(const Hyperparameter& parameter) {
  std::string line =
      fmt::format("{} {} {}", parameter.name, parameter.whole ? "int" : "float",
                  parameter.default_value ? text_of(*parameter.default_value) : "without default");
  if (parameter.has_range) {
    line += fmt::format(", {} to {}{}", text_of(parameter.low), text_of(parameter.high),
                        parameter.log_uniform ? " log_uniform" : "");
  }
  if (parameter.zero_probability > 0) {
    line += fmt::format(", 0 with probability {}", parameter.zero_probability);
  }
  return line;
}

}  // namespace

void print_plan(const ExperimentBatch& batch, const BatchTexts& source) {
  print("{}  seed {}\n", experiment::describe_plan(batch.settings), source.seed);
}

void print_dry_run(const ExperimentBatch& batch, const BatchTexts& source,
                   const std::filesystem::path& results) {
  print_plan(batch, source);
  const experiment::ExpectedTimes expected(
      experiment::earlier_durations(results, history_tables(batch, source), {}));
  experiment::TimeLeft all;
  for (const Experiment& experiment : batch.queue) {
    const auto seconds = expected.of(experiment);
    all.add(seconds);
    print("{}, expected time {}\n  {}\n  {}\n", experiment.folder,
          seconds ? "about " + format_seconds(*seconds) : "unknown",
          describe(experiment.training.values), command_line(batch, source, experiment.training));
    if (experiment.background) {
      print("  beside it: {}\n", command_line(batch, source, *experiment.background));
    }
  }
  print("expected time of the batch, by medians of earlier runs: {}\n", describe(all));
}

void print_catalog(const experiment::Catalog& catalog) {
  for (const auto& repository : catalog.repositories) {
    print("{}:", repository.name);
    for (const auto& model : repository.models) print(" {}", model);
    print("\n");
    for (const auto& parameter : repository.hyperparameters) {
      print("  {}\n", describe(parameter));
    }
  }
}

}  // namespace plimsoll::experiment
