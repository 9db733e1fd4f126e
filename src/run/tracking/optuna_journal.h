// A batch as a journal file of Optuna (JournalFileStorage, version 3.1 and later), for its
// dashboard and its analyses: one study per repository, one trial per experiment. Pure: texts of
// lines.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "experiment/batch.h"
#include "experiment/record.h"
#include "experiment/training_log.h"

namespace plimsoll::tracking {

class OptunaStudies {
 public:
  // `run` names the studies. The batch must outlive this.
  OptunaStudies(std::string run, const experiment::ExperimentBatch& batch);

  // The lines that make the studies.
  std::string opening() const;
  // The line of a finished experiment. A parameter's distribution covers its range in the model
  // config and all of its values in the queue; seeds and the like are attributes.
  std::string trial(const experiment::Experiment& experiment,
                    const experiment::ExperimentResult& result,
                    const std::vector<experiment::MetricCurve>& curves) const;

 private:
  struct Parameter {
    bool categorical = false;
    bool whole = true;
    bool logarithmic = false;
    bool nuisance = false;
    double low = 0;
    double high = 0;
    std::vector<experiment::Value> choices;
  };
  struct Study {
    std::string name;
    size_t number = 0;
    experiment::Objective objective;
    std::map<std::string, Parameter> parameters;
  };
  static void widen(Parameter& parameter, const experiment::Value& value);

  const experiment::ExperimentBatch& batch_;
  std::map<std::string, Study> studies_;  // by repository
};

}  // namespace plimsoll::tracking
