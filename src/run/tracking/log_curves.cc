#include "tracking/log_curves.h"

#include <string_view>
#include <system_error>

#include "base/text_file.h"

namespace plimsoll::tracking {

std::vector<MetricCurve> curves_of(const std::filesystem::path& log,
                                   const std::vector<experiment::MetricPattern>& patterns) {
  std::vector<MetricCurve> curves;
  for (const experiment::MetricPattern& pattern : patterns) curves.push_back({pattern.name, {}});
  std::error_code missing;
  if (!std::filesystem::exists(log, missing)) return curves;
  experiment::LogReader reader(patterns, {});
  for_each_line(log, [&](std::string_view line) {
    reader.line(line);
    for (MetricCurve& curve : curves) {
      const bool found = reader.lines_with(curve.metric) > curve.values.size();
      if (found && curve.values.size() < kMostSteps) {
        curve.values.push_back(reader.metrics().at(curve.metric).number);
      }
    }
  });
  return curves;
}

}  // namespace plimsoll::tracking
