// The logs of a batch for other tools. In the folder of each experiment: history.csv and
// TensorBoard's events, from its training log. In the folder of the run: experiments.jsonl,
// metrics.prom and optuna.log, from the journal's records.
//
// The journal is the truth: whoever drives the batch again makes these files from it again, so a
// crash leaves nothing half written and no experiment is there twice.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiment/batch.h"
#include "experiment/journal.h"
#include "experiment/record.h"
#include "experiment/training_log.h"
#include "track/step_log.h"
#include "tracking/optuna_journal.h"

namespace plimsoll::tracking {

constexpr const char* kExperimentLines = "experiments.jsonl";
constexpr const char* kOptunaJournal = "optuna.log";
inline constexpr std::array kBatchLogs = {track::LogKind::tensorboard, track::LogKind::csv,
                                          track::LogKind::jsonl, track::LogKind::prometheus,
                                          track::LogKind::optuna};

struct FinishedExperiment {
  const experiment::Experiment* experiment = nullptr;
  experiment::ExperimentResult result;
};

class BatchLogs {
 public:
  // `batch` must outlive this. `say` is told once about each log that cannot be written.
  BatchLogs(std::filesystem::path folder, track::LogKinds kinds,
            const experiment::ExperimentBatch& batch, std::function<void(const std::string&)> say);

  // Writes all files again, from what has finished so far.
  void begin(const experiment::Journal& journal);
  void begin(std::vector<FinishedExperiment> finished);
  // An experiment has finished, perhaps again.
  void add(const experiment::Experiment& experiment, const experiment::ExperimentResult& result);
  // No driver runs the batch any more.
  void end();

 private:
  struct Counts {
    size_t succeeded = 0;
    size_t stopped = 0;
    size_t failed = 0;
    double seconds = 0;
    double cpu_joules = 0;
    double gpu_joules = 0;
  };
  std::vector<experiment::MetricCurve> curves(const experiment::Experiment& experiment) const;
  void write_history(const experiment::Experiment& experiment,
                     const experiment::ExperimentResult& result,
                     const std::vector<experiment::MetricCurve>& curves) const;
  bool has_history(const experiment::Experiment& experiment) const;
  void count(const experiment::Experiment& experiment, const experiment::ExperimentResult& result);
  void write_prometheus(const std::string& state) const;
  template <typename Write>
  void attempt(track::LogKind kind, const Write& write);

  const std::filesystem::path folder_;
  track::LogKinds kinds_;
  const experiment::ExperimentBatch& batch_;
  const std::function<void(const std::string&)> say_;
  const OptunaStudies studies_;
  size_t total_ = 0;
  std::map<size_t, Counts> counts_;                          // by experiment
  std::map<std::string, std::map<size_t, double>> figures_;  // of the objectives, by repository
};

// The line of experiments.jsonl, with its end.
std::string experiment_line(const experiment::Experiment& experiment,
                            const experiment::ExperimentResult& result);

}  // namespace plimsoll::tracking
