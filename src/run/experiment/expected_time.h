// Expected durations of experiments: the median of similar ones, or their mean where some were
// stopped early. Without a similar one there is no expected time.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "experiment/queue.h"

namespace plimsoll::experiment {

// Experiments of one kind are expected to take equally long.
struct ExperimentKind {
  std::string repository;
  std::string model;
  bool parallel = false;
  bool operator<(const ExperimentKind& other) const {
    return std::tie(repository, model, parallel) <
           std::tie(other.repository, other.model, other.parallel);
  }
};
ExperimentKind kind_of(const Experiment& experiment);

// The durations of successful experiments.
class Durations {
 public:
  void add(const ExperimentKind& kind, double seconds);
  std::optional<double> median(const ExperimentKind& kind) const;
  // The sorted durations; empty if there are none.
  std::vector<double> of(const ExperimentKind& kind) const;

 private:
  std::map<ExperimentKind, std::vector<double>> sorted_;
};

// The durations in the summary tables of the newest hundred runs under `results`, except `own`, and
// in `tables`. Unreadable tables are ignored.
Durations earlier_durations(const std::filesystem::path& results,
                            const std::vector<std::filesystem::path>& tables,
                            const std::filesystem::path& own);

// Uses the durations of this run if there are any of the kind, otherwise those of earlier runs. If
// experiments of the kind were stopped early, those that follow are as likely to be: then the
// expected time is the mean of all that have ended.
class ExpectedTimes {
 public:
  explicit ExpectedTimes(Durations earlier = {}) : earlier_(std::move(earlier)) {}
  void add(const Experiment& finished, double seconds) { own_.add(kind_of(finished), seconds); }
  void add_stopped(const Experiment& stopped, double seconds) {
    stopped_.add(kind_of(stopped), seconds);
  }
  std::optional<double> of(const Experiment& experiment) const;
  // How much longer an experiment takes that already runs for that long: the median of those that
  // took longer. Nothing if none did.
  std::optional<double> rest_of(const Experiment& experiment, double seconds) const;
  // The durations that the expected time comes from.
  std::vector<double> similar(const ExperimentKind& kind) const;

 private:
  Durations earlier_;
  Durations own_;
  Durations stopped_;  // early, in this run
};

// The expected time for the rest of a batch.
struct TimeLeft {
  double seconds = 0;  // sum of the known ones
  size_t known = 0;
  size_t unknown = 0;
  double longest = 0;               // of the known ones
  std::optional<double> deviation;  // of `seconds`; nothing if too few have run to know it
  void add(std::optional<double> expected);
  // At most so many run at once. The time is never less than that of the longest.
  void share_among(size_t jobs);
};
// "about 5 min 20 s ± 40 s", "unknown (no similar experiment has run yet)", "about 5 min 20 s, and
// 3 experiments of unknown length".
std::string describe(const TimeLeft& left);

}  // namespace plimsoll::experiment
