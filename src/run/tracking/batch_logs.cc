#include "tracking/batch_logs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/host.h"
#include "base/json.h"
#include "experiment/best.h"
#include "experiment/driver.h"
#include "experiment/outputs.h"
#include "io/partial_file.h"
#include "track/prometheus_text.h"
#include "track/step_log.h"

namespace plimsoll::tracking {
namespace {

namespace fs = std::filesystem;
using experiment::Experiment;
using experiment::ExperimentResult;
using experiment::Repository;
using experiment::Value;
using track::LogKind;

// In the folder of each experiment.
constexpr std::array kHistories = {LogKind::csv, LogKind::tensorboard};

void append_line(const fs::path& path, std::string_view text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file) fail_errno("write", path.string(), errno);
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_errno("write", path.string(), errno);
    text.remove_prefix(static_cast<size_t>(written));
  }
}

std::vector<track::LoggedSetting> settings_of(const experiment::Values& values) {
  std::vector<track::LoggedSetting> settings;
  for (const auto& [name, value] : values.all) {
    if (value.type == Value::Type::text) {
      settings.push_back({name, value.word});
    } else if (value.type == Value::Type::boolean) {
      settings.push_back({name, value.number != 0});
    } else {
      settings.push_back({name, value.number});
    }
  }
  return settings;
}

double ended(const FinishedExperiment& one) {
  return one.result.last.started + one.result.last.seconds;
}

}  // namespace

std::string experiment_line(const Experiment& experiment, const ExperimentResult& result) {
  const std::string text = experiment_json(experiment, result, {});
  return read_json<nlohmann::ordered_json>(text, "experiment.json").dump() + "\n";
}

BatchLogs::BatchLogs(fs::path folder, track::LogKinds kinds,
                     const experiment::ExperimentBatch& batch,
                     std::function<void(const std::string&)> say)
    : folder_(std::move(folder)),
      kinds_(std::move(kinds)),
      batch_(batch),
      say_(std::move(say)),
      studies_(folder_.filename().string(), batch) {
  for (const Experiment& experiment : batch.queue) total_ += experiment.warmup ? 0 : 1;
}

template <typename Write>
void BatchLogs::attempt(LogKind kind, const Write& write) {
  if (!kinds_.contains(kind)) return;
  try {
    write();
  } catch (const std::exception& error) {
    kinds_.erase(kind);
    say_(fmt::format("warning: the {} log ends here: {}", track::name(kind), error.what()));
  }
}

void BatchLogs::begin(const experiment::Journal& journal) {
  std::vector<FinishedExperiment> finished;
  for (const auto& entry : journal.entries()) {
    if (entry.result.empty()) continue;
    finished.push_back({&batch_.queue.at(static_cast<size_t>(entry.number) - 1),
                        experiment::result_of(entry.result)});
  }
  begin(std::move(finished));
}

void BatchLogs::begin(std::vector<FinishedExperiment> finished) {
  if (kinds_.empty()) return;
  // As they were appended: an Optuna that reads the file while it is written keeps its place.
  std::ranges::stable_sort(finished, {}, ended);
  std::string lines;
  std::string trials = studies_.opening();
  for (const FinishedExperiment& one : finished) {
    const Experiment& experiment = *one.experiment;
    if (experiment.warmup) continue;
    count(experiment, one.result);
    lines += experiment_line(experiment, one.result);
    const bool needs_history = !has_history(experiment);
    if (!needs_history && !kinds_.contains(LogKind::optuna)) continue;
    const std::vector<experiment::MetricCurve> read = curves(experiment);
    if (needs_history) write_history(experiment, one.result, read);
    trials += studies_.trial(experiment, one.result, read);
  }
  attempt(LogKind::jsonl, [&] { io::write_whole(folder_ / kExperimentLines, lines); });
  attempt(LogKind::optuna, [&] { io::write_whole(folder_ / kOptunaJournal, trials); });
  attempt(LogKind::prometheus, [&] { write_prometheus("running"); });
}

void BatchLogs::add(const Experiment& experiment, const ExperimentResult& result) {
  if (kinds_.empty() || experiment.warmup) return;
  count(experiment, result);
  const std::vector<experiment::MetricCurve> read = curves(experiment);
  write_history(experiment, result, read);
  attempt(LogKind::jsonl,
          [&] { append_line(folder_ / kExperimentLines, experiment_line(experiment, result)); });
  attempt(LogKind::optuna,
          [&] { append_line(folder_ / kOptunaJournal, studies_.trial(experiment, result, read)); });
  attempt(LogKind::prometheus, [&] { write_prometheus("running"); });
}

void BatchLogs::end() {
  attempt(LogKind::prometheus,
          [&] { write_prometheus(counts_.size() < total_ ? "stopped" : "finished"); });
}

std::vector<experiment::MetricCurve> BatchLogs::curves(const Experiment& experiment) const {
  const Repository* const repository = batch_.catalog.find(experiment.training.repository);
  if (repository == nullptr) return {};
  return experiment::curves_of(folder_ / experiment.folder / experiment::kTrainingLog,
                               repository->metrics);
}

bool BatchLogs::has_history(const Experiment& experiment) const {
  const track::LogKinds there = track::logs_in(folder_ / experiment.folder);
  return std::ranges::all_of(
      kHistories, [&](LogKind kind) { return !kinds_.contains(kind) || there.contains(kind); });
}

void BatchLogs::write_history(const Experiment& experiment, const ExperimentResult& result,
                              const std::vector<experiment::MetricCurve>& curves) const {
  track::StepLogOptions options{.folder = folder_ / experiment.folder,
                                .kinds = {},
                                .step_name = "step",
                                .columns = {},
                                .settings = settings_of(result.last.values),
                                .group = experiment.configuration,
                                .final_tags = {},
                                .metric_prefix = {},
                                .labels = {},
                                .failed = say_};
  for (const LogKind kind : kHistories) {
    if (kinds_.contains(kind)) options.kinds.insert(kind);
  }
  if (options.kinds.empty()) return;
  size_t steps = 0;
  for (const experiment::MetricCurve& curve : curves) {
    options.columns.push_back({curve.metric, curve.metric, curve.metric});
    options.final_tags.push_back(curve.metric);
    steps = std::max(steps, curve.values.size());
  }
  try {
    const double began = result.last.started;
    track::StepLog log(options, {}, began);
    for (size_t i = 0; i < steps; ++i) {
      // A log has no times; the steps are taken to be equally long.
      track::LogStep step{.step = i + 1,
                          .time = began + result.last.seconds * static_cast<double>(i + 1) /
                                              static_cast<double>(steps),
                          .values = {}};
      for (const experiment::MetricCurve& curve : curves) {
        step.values.push_back(i < curve.values.size() ? curve.values[i] : std::nan(""));
      }
      log.add(step);
    }
    log.end({.state = {},
             .over = true,
             .success = !failed(result),
             .results = {},
             .time = began + result.last.seconds});
  } catch (const std::exception& error) {
    say_(fmt::format("warning: {} has no logs: {}", experiment.folder, error.what()));
  }
}

void BatchLogs::count(const Experiment& experiment, const ExperimentResult& result) {
  Counts counts{.succeeded = result.success ? size_t{1} : 0,
                .stopped = !result.success && !failed(result) ? size_t{1} : 0,
                .failed = failed(result) ? size_t{1} : 0,
                .seconds = result.last.seconds};
  if (result.last.energy) {
    counts.cpu_joules = result.last.energy->cpu.total.joules.value_or(0);
    counts.gpu_joules = result.last.energy->all_gpus.joules.value_or(0);
  }
  counts_[experiment.number] = counts;
  const std::string& name = experiment.training.repository;
  const Repository* const repository = batch_.catalog.find(name);
  const auto objective =
      repository == nullptr ? std::nullopt : objective_of(*repository, batch_.settings);
  if (!objective || !result.success) return;
  const auto found = result.last.metrics.find(objective->metric);
  if (found == result.last.metrics.end() || !std::isfinite(found->second.number)) return;
  figures_[name][experiment.number] = found->second.number;
}

void BatchLogs::write_prometheus(const std::string& state) const {
  Counts sum;
  for (const auto& [number, one] : counts_) {
    sum.succeeded += one.succeeded;
    sum.stopped += one.stopped;
    sum.failed += one.failed;
    sum.seconds += one.seconds;
    sum.cpu_joules += one.cpu_joules;
    sum.gpu_joules += one.gpu_joules;
  }
  track::PrometheusText text;
  const std::vector<track::PrometheusLabel> run = {{"run", folder_.string()}};
  const auto experiments = [&](const char* what, size_t count) {
    std::vector<track::PrometheusLabel> labels = run;
    labels.push_back({"state", what});
    text.gauge("plimsoll_batch_experiments", "Experiments of the batch by their state.", labels,
               static_cast<double>(count));
  };
  experiments("succeeded", sum.succeeded);
  experiments("stopped_early", sum.stopped);
  experiments("failed", sum.failed);
  experiments("left", total_ - counts_.size());
  text.gauge("plimsoll_batch_training_seconds", "Duration of the finished experiments together.",
             run, sum.seconds);
  text.gauge("plimsoll_batch_cpu_joules", "Measured CPU energy of the finished experiments.", run,
             sum.cpu_joules);
  text.gauge("plimsoll_batch_gpu_joules", "Measured GPU energy of the finished experiments.", run,
             sum.gpu_joules);
  for (const auto& [name, figures] : figures_) {
    const auto objective = objective_of(*batch_.catalog.find(name), batch_.settings);
    std::vector<track::PrometheusLabel> labels = run;
    labels.push_back({"repository", name});
    labels.push_back({"metric", objective->metric});
    double best = figures.begin()->second;
    for (const auto& [number, figure] : figures) {
      best = objective->maximize ? std::max(best, figure) : std::min(best, figure);
    }
    text.gauge("plimsoll_batch_best", "The best value of the metric so far.", labels, best);
  }
  std::vector<track::PrometheusLabel> labels = run;
  labels.push_back({"state", state});
  text.gauge("plimsoll_batch_state", "1 for the state of the batch.", labels, 1);
  text.gauge("plimsoll_batch_updated_seconds", "When this file was written, in seconds since 1970.",
             run, seconds_since_1970());
  io::write_whole(folder_ / track::kPrometheusFile, text.text(), io::Sync::no);
}

}  // namespace plimsoll::tracking
