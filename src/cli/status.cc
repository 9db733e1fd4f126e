// plimsoll status: how far a batch is, from any terminal.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/run_folder.h"

namespace plimsoll::cli {
namespace {

struct Options {
  std::filesystem::path folder;
};

void print_status(const Options& options) {
  const KnownRun run = read_run(options.folder);
  size_t succeeded = 0;
  size_t failed = 0;
  std::string failures;
  for (size_t i = 0; i < run.entries.size(); ++i) {
    if (run.entries[i].result.empty()) continue;
    const auto result = experiment::result_of(run.entries[i].result);
    ++(result.success ? succeeded : failed);
    if (!result.success) {
      failures += fmt::format("  failed      {}: {}\n", run.queue[i].folder, result.last.headline);
    }
  }
  fmt::print("{}\n  {} of {} succeeded, {} failed, {} left; {}\n{}", run.folder.string(), succeeded,
             run.entries.size(), failed, run.entries.size() - succeeded - failed,
             run.driven ? "running" : "nobody drives it", failures);
  for (const auto& attempt : run.attempts) {
    if (!attempt.result.empty()) continue;
    const auto& experiment = run.queue.at(static_cast<size_t>(attempt.experiment) - 1);
    fmt::print("  {}  {}, attempt {}: {}\n", run.driven ? "running   " : "unfinished",
               experiment.folder, attempt.number, describe(experiment.training.values));
  }
}

}  // namespace

void add_status(CLI::App& app) {
  CLI::App* command = app.add_subcommand("status", "How far a batch is");
  auto options = std::make_shared<Options>();
  command->add_option("RUN", options->folder, "folder of the run")->required();
  command->footer("Examples:\n  plimsoll status results/run_20261115_081500");
  command->callback([options] { print_status(*options); });
}

}  // namespace plimsoll::cli
