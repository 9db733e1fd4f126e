#include "serve/metrics_text.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>

namespace plimsoll::serve {
namespace {

// A label's value: the format escapes three characters.
std::string label_value(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + "\"";
}

struct Metric {
  const char* name;
  const char* help;
  std::optional<double> TrainingFigures::*figure;
};
constexpr Metric kMetrics[] = {
    {"plimsoll_run_epoch", "Completed epochs.", &TrainingFigures::epoch},
    {"plimsoll_run_loss", "Training loss; of the current epoch if the run goes on.",
     &TrainingFigures::loss},
    {"plimsoll_run_best_valid_accuracy", "Best validation accuracy so far.",
     &TrainingFigures::best_valid},
    {"plimsoll_run_peak_memory_bytes", "Peak of resident memory.",
     &TrainingFigures::peak_memory_bytes}};

// What stands before the samples of a metric, which must stand together.
std::string opening(const char* name, const char* help) {
  return fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
}

}  // namespace

std::string metrics_text(const std::vector<MeasuredRun>& runs) {
  std::map<std::pair<report::RunKind, report::FoundState>, size_t> counts;
  for (const MeasuredRun& run : runs) ++counts[{run.kind, run.state}];
  std::string text = opening("plimsoll_runs", "Runs under the folder.");
  for (const auto& [group, count] : counts) {
    text += fmt::format("plimsoll_runs{{kind={},state={}}} {}\n", label_value(name(group.first)),
                        label_value(name(group.second)), count);
  }
  for (const Metric& metric : kMetrics) {
    text += opening(metric.name, metric.help);
    for (const MeasuredRun& run : runs) {
      const auto value = run.figures ? (*run.figures).*metric.figure : std::nullopt;
      if (value)
        text += fmt::format("{}{{run={}}} {}\n", metric.name, label_value(run.name), *value);
    }
  }
  return text;
}

}  // namespace plimsoll::serve
