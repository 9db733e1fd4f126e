#include "experiment/expected_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <system_error>

#include "base/run_files.h"
#include "base/text_file.h"
#include "base/units.h"
#include "experiment/csv_table.h"
#include "statistics/sample.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostRuns = 100;  // so that a batch starts quickly even after many runs

std::vector<fs::path> newest_runs(const fs::path& results) {
  std::vector<fs::path> runs;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(results, missing)) {
    if (entry.path().filename().string().starts_with("run_")) runs.push_back(entry.path());
  }
  std::sort(runs.begin(), runs.end(), std::greater<>());
  if (runs.size() > kMostRuns) runs.resize(kMostRuns);
  return runs;
}

void add_table(const fs::path& table, Durations& durations) {
  Problems ignored;
  std::vector<PastRun> runs;
  try {
    runs = read_history(read_small_file(table, kMostTableBytes), table.string(), ignored);
  } catch (const Error&) {
    return;  // ignore its times
  }
  for (const PastRun& run : runs) {
    if (!run.success || !run.seconds || !std::isfinite(*run.seconds)) continue;
    durations.add({.repository = run.repository, .model = run.model, .parallel = run.parallel},
                  *run.seconds);
  }
}

}  // namespace

ExperimentKind kind_of(const Experiment& experiment) {
  return {.repository = experiment.training.repository,
          .model = experiment.training.model,
          .parallel = experiment.background.has_value()};
}

void Durations::add(const ExperimentKind& kind, double seconds) {
  auto& all = sorted_[kind];
  all.insert(std::upper_bound(all.begin(), all.end(), seconds), seconds);
}

std::optional<double> Durations::median(const ExperimentKind& kind) const {
  const auto found = sorted_.find(kind);
  if (found == sorted_.end()) return std::nullopt;
  const auto& all = found->second;
  return (all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2;
}

std::vector<double> Durations::of(const ExperimentKind& kind) const {
  const auto found = sorted_.find(kind);
  return found == sorted_.end() ? std::vector<double>() : found->second;
}

Durations earlier_durations(const fs::path& results, const std::vector<fs::path>& tables,
                            const fs::path& own) {
  Durations durations;
  for (const fs::path& table : tables) add_table(table, durations);
  for (const fs::path& run : newest_runs(results)) {
    if (run.filename() != own.filename()) add_table(run / kSummaryFile, durations);
  }
  return durations;
}

std::optional<double> ExpectedTimes::of(const Experiment& experiment) const {
  const ExperimentKind kind = kind_of(experiment);
  if (!stopped_.of(kind).empty()) return statistics::moments_of(similar(kind)).mean;
  const auto own = own_.median(kind);
  return own ? own : earlier_.median(kind);
}

std::vector<double> ExpectedTimes::similar(const ExperimentKind& kind) const {
  auto own = own_.of(kind);
  const auto stopped = stopped_.of(kind);
  own.insert(own.end(), stopped.begin(), stopped.end());
  return own.empty() ? earlier_.of(kind) : own;
}

std::optional<double> ExpectedTimes::rest_of(const Experiment& experiment, double seconds) const {
  std::vector<double> longer = similar(kind_of(experiment));
  std::erase_if(longer, [&](double one) { return one <= seconds; });
  if (longer.empty()) return std::nullopt;
  return statistics::median_of(std::move(longer)) - seconds;
}

void TimeLeft::add(std::optional<double> expected) {
  seconds += expected.value_or(0);
  longest = std::max(longest, expected.value_or(0));
  ++(expected ? known : unknown);
}

void TimeLeft::share_among(size_t jobs) {
  const auto at_once =
      static_cast<double>(std::clamp<size_t>(jobs, 1, std::max<size_t>(1, known + unknown)));
  seconds = std::max(longest, seconds / at_once);
  if (deviation) *deviation /= at_once;
}

std::string describe(const TimeLeft& left) {
  if (left.known == 0 && left.unknown > 0) return "unknown (no similar experiment has run yet)";
  std::string text = "about " + format_seconds(left.seconds);
  constexpr double kWorthSaying = 0.05;
  if (left.deviation && *left.deviation > kWorthSaying * left.seconds) {
    text += " ± " + format_seconds(*left.deviation);
  }
  if (left.unknown == 0) return text;
  return fmt::format("{}, and {} of unknown length", text, counted(left.unknown, "experiment"));
}

}  // namespace plimsoll::experiment
