// How long experiments will take, by how long others like them took. A guess with a source, or
// none: what has never run has no expected time.
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

// Of experiments that succeeded.
class Durations {
 public:
  void add(const ExperimentKind& kind, double seconds);
  std::optional<double> median(const ExperimentKind& kind) const;

 private:
  std::map<ExperimentKind, std::vector<double>> sorted_;
};

// Those in the tables of earlier runs under `results`, the newest hundred of them but not `own`,
// and in `tables`. What cannot be read says nothing.
Durations earlier_durations(const std::filesystem::path& results,
                            const std::vector<std::filesystem::path>& tables,
                            const std::filesystem::path& own);

// Of this run as far as it has any, else of earlier ones.
class ExpectedTimes {
 public:
  explicit ExpectedTimes(Durations earlier = {}) : earlier_(std::move(earlier)) {}
  void add(const Experiment& finished, double seconds) { own_.add(kind_of(finished), seconds); }
  std::optional<double> of(const Experiment& experiment) const;

 private:
  Durations earlier_;
  Durations own_;
};

// For what is left of a batch.
struct TimeLeft {
  double seconds = 0;  // of those that are known
  size_t known = 0;
  size_t unknown = 0;
  void add(std::optional<double> expected);
};
// "about 5 min 20 s", "unknown (nothing like it has run yet)", "about 5 min 20 s, and 3
// experiments of unknown length".
std::string describe(const TimeLeft& left);

}  // namespace plimsoll::experiment
