// The pages of the kinds of runs, and the figures that a comparison shares with them. For this room
// only.
#pragma once

#include <string>
#include <vector>

#include "plot/chart.h"
#include "report/figures.h"
#include "report/html.h"
#include "report/run_data.h"

namespace plimsoll::report {

std::string training_body(const TrainingData& data, Depth depth);
std::string batch_body(const BatchData& data, Depth depth);
std::string job_log_body(const JobLogData& data, Depth depth);

// Parts of them.
std::string memory_html(const OneTraining& one);
std::string energy_html(const BatchData& data);
std::string causes_html(const BatchData& data);
double batch_seconds(const BatchData& data);  // from the first start to the last end, or now

// Curves of one training over its epochs.
enum class EpochFigure { loss, valid, test, seconds, lr };
plot::ChartCurve epoch_curve(const launch::TrainingRecord& record, EpochFigure what,
                             const std::string& name);
// A chart of such curves; its title and axes are those of the figure.
plot::Chart epoch_chart(EpochFigure what);

// Memory by tag, what is resident, the limit and the plan.
plot::Chart memory_chart(const launch::TrainingDiary& diary, const launch::TrainingRecord& record);

// What ran when.
plot::GanttChart queue_chart(const BatchData& data);
// The metric against energy, or time where no energy was measured; nothing if neither is known.
std::optional<plot::Chart> cost_chart(const BatchData& data);

// "81.2 %"; "-" if there is none.
std::string accuracy_text(const std::optional<double>& accuracy);

// Accuracies of a training. Of several seeds the mean and standard deviation over those that
// finished: "81.2 ± 0.3 %".
struct AccuracyTexts {
  std::string valid;
  std::string test;
  size_t finished = 0;  // seeds that count
};
AccuracyTexts accuracies_of(const TrainingData& data);

// The joules of an attempt, as far as its configuration's energy counts them.
std::optional<double> joules_of(const BatchData& data, const experiment::AttemptResult& attempt);

// The figure that a batch is about; nothing if nothing has succeeded yet.
std::optional<answer::Aim> aim_of(const BatchData& data);

}  // namespace plimsoll::report
