#include "answer/merged_runs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "answer/selection.h"
#include "base/json.h"
#include "experiment/batch.h"
#include "experiment/json_reader.h"
#include "experiment/outputs.h"
#include "experiment/record.h"
#include "experiment/run_folder.h"

namespace plimsoll::answer {
namespace {

namespace fs = std::filesystem;

void add_run(const fs::path& folder, MergedRuns& merged) {
  const experiment::KnownRun run = experiment::read_run(folder);
  experiment::Problems ignored(experiment::KeyPolicy::lenient);
  const auto texts = experiment::parse_texts(run.settings);
  experiment::ExperimentBatch batch = experiment::read_batch(texts, ignored);
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

}  // namespace

std::optional<experiment::Objective> stated_objective(const experiment::ExperimentBatch& batch) {
  for (const auto& entry : batch.settings.entries) {
    const auto* repository = batch.catalog.find(entry.foreground.repository);
    if (repository == nullptr) continue;
    const auto terms = experiment::merged(repository->terms, entry.terms);
    if (terms.objective) return terms.objective;
  }
  return std::nullopt;
}

MergedRuns merge_runs(const std::vector<fs::path>& folders) {
  MergedRuns merged;
  std::vector<fs::path> read;
  for (const fs::path& name : folders) {
    const fs::path folder = fs::weakly_canonical(name);
    if (std::ranges::find(read, folder) != read.end()) continue;
    add_run(folder, merged);
    read.push_back(folder);
  }
  return merged;
}

Configurations configurations_of(const MergedRuns& merged, const EnergyPrices& prices) {
  Configurations all = group(merged.finished, merged.catalog, prices);
  all.unfinished = merged.unfinished;
  all.objective = merged.objective;
  if (all.objective) all.objective->metric = figure_of_metric(all.objective->metric);
  return all;
}

void keep_where(const std::string& conditions, MergedRuns& merged, Configurations& all) {
  if (conditions.empty() || all.all.empty()) return;
  const auto parsed = parse_conditions(conditions, all);
  keep_only(all, [&](const auto& one) { return meets_all(one, parsed); });
  std::vector<Outcome> kept;
  for (const auto& one : all.all) {
    for (const size_t member : one.members) kept.push_back(merged.finished[member]);
  }
  std::ranges::sort(kept, {}, [](const Outcome& one) { return one.experiment.number; });
  merged.finished = std::move(kept);
}

std::string experiments_csv(const MergedRuns& merged) {
  std::vector<experiment::Experiment> queue;
  queue.reserve(merged.finished.size());
  for (const Outcome& one : merged.finished) queue.push_back(one.experiment);
  experiment::SummaryTable summary(queue, merged.catalog);
  for (const Outcome& one : merged.finished) summary.set(one.experiment, one.result);
  return summary.text();
}

nlohmann::ordered_json experiments_json(const MergedRuns& merged) {
  auto all = nlohmann::ordered_json::array();
  for (const auto& [made, result] : merged.finished) {
    all.push_back(read_json<nlohmann::ordered_json>(
        experiment::experiment_json(made, result, {result.last}), made.folder));
  }
  return all;
}

}  // namespace plimsoll::answer
