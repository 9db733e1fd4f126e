#include "experiment/training_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text_file.h"

namespace plimsoll::experiment {
namespace {

constexpr size_t kFollowBytes = 65536;  // read at a time

std::vector<MetricPattern> only(const std::vector<MetricPattern>& patterns,
                                const std::string& metric) {
  std::vector<MetricPattern> one;
  std::copy_if(patterns.begin(), patterns.end(), std::back_inserter(one),
               [&](const MetricPattern& pattern) { return pattern.name == metric; });
  return one;
}

}  // namespace

LogFollower::LogFollower(std::filesystem::path log, const std::vector<MetricPattern>& patterns,
                         const Objective& objective)
    : log_(std::move(log)),
      metric_(objective.metric),
      reader_(only(patterns, objective.metric), {}),
      curve_(objective.maximize),
      lines_([this](std::string_view line) { take(line); }) {}

void LogFollower::take(std::string_view line) {
  const uint64_t before = reader_.lines_with(metric_);
  reader_.line(line);
  if (reader_.lines_with(metric_) == before) return;
  reports_.push_back(curve_.add(reader_.metrics().at(metric_).number));
}

std::vector<Report> LogFollower::read() {
  if (!file_) file_ = Fd(open(log_.c_str(), O_RDONLY | O_CLOEXEC));
  std::string block(kFollowBytes, '\0');
  while (file_) {
    const ssize_t count = ::read(file_.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    lines_.add({block.data(), static_cast<size_t>(count)});
  }
  return std::exchange(reports_, {});
}

std::vector<Report> LogFollower::finish() {
  std::vector<Report> all = read();
  lines_.finish();
  all.insert(all.end(), reports_.begin(), reports_.end());
  reports_.clear();
  return all;
}

std::map<std::string, Value> metrics_at(const std::filesystem::path& log,
                                        const std::vector<MetricPattern>& patterns,
                                        const Objective& objective, uint64_t step) {
  LogReader reader(patterns, {});
  for_each_line(log, [&](std::string_view line) {
    if (reader.lines_with(objective.metric) < step) reader.line(line);
  });
  return reader.metrics();
}

std::vector<MetricCurve> curves_of(const std::filesystem::path& log,
                                   const std::vector<MetricPattern>& patterns) {
  std::vector<MetricCurve> curves;
  curves.reserve(patterns.size());
  for (const MetricPattern& pattern : patterns) curves.push_back({pattern.name, {}});
  std::error_code missing;
  if (!std::filesystem::exists(log, missing)) return curves;
  LogReader reader(patterns, {});
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

}  // namespace plimsoll::experiment
