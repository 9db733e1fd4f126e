#include "experiment/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/host.h"
#include "base/print.h"
#include "base/units.h"
#include "experiment/best.h"
#include "experiment/driver.h"
#include "experiment/record.h"
#include "gate/policy.h"
#include "statistics/sample.h"

namespace plimsoll::experiment {
namespace {

constexpr std::streamoff kTailBytes = 4096;
constexpr char kEscape = '\033';

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Removes escape sequences for colours and cursor movements; other control characters become
// blanks.
std::string without_colours(std::string_view line) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == kEscape && i + 1 < line.size() && line[i + 1] == '[') {
      for (i += 2; i < line.size() && (line[i] < '@' || line[i] > '~');) ++i;
    } else {
      text += is_control(line[i]) ? ' ' : line[i];
    }
  }
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return printable_line(
      std::string_view(text).substr(begin, text.find_last_not_of(' ') - begin + 1));
}

std::string describe_gpu(const meter::GpuReading& gpu) {
  std::string text = fmt::format("GPU {} {} of {}", gpu.index, format_bytes(gpu.used_bytes),
                                 format_bytes(gpu.total_bytes));
  if (gpu.utilisation_percent) text += fmt::format(" {} %", *gpu.utilisation_percent);
  if (gpu.power_watts) text += fmt::format(" {:.0f} W", *gpu.power_watts);
  if (gpu.temperature_celsius) text += fmt::format(" {} °C", *gpu.temperature_celsius);
  return text;
}

std::string describe_machine(const MachineNow& machine) {
  std::string text;
  for (const meter::GpuReading& gpu : machine.gpus) text += describe_gpu(gpu) + " | ";
  return text + fmt::format("RAM {} of {}", format_bytes(machine.ram_used_bytes),
                            format_bytes(machine.ram_total_bytes));
}

}  // namespace

std::vector<std::string> lines_of(const BatchProgress& progress, const MachineNow& machine) {
  std::vector<std::string> lines;
  if (progress.running) {
    const RunningNow& now = *progress.running;
    lines.push_back(fmt::format("{}{} | {}{} | {}", now.experiment,
                                now.attempt > 1 ? fmt::format(", attempt {}", now.attempt) : "",
                                format_seconds(now.seconds),
                                now.expected_seconds
                                    ? " of about " + format_seconds(*now.expected_seconds)
                                    : ", expected time unknown",
                                now.values.empty() ? "no hyperparameters" : now.values));
    lines.push_back("  > " + now.last_line);
  }
  for (const RunningNow& other : progress.beside) {
    lines.push_back(fmt::format("{} | {} | {}", other.experiment, format_seconds(other.seconds),
                                other.last_line));
  }
  lines.push_back("  " + describe_machine(machine));
  if (!progress.best.empty()) lines.push_back("  best so far: " + progress.best);
  lines.push_back("  " + describe_counts(progress));
  return lines;
}

std::string describe_counts(const BatchProgress& progress) {
  std::string text = fmt::format("{} succeeded, ", progress.succeeded);
  if (progress.stopped > 0) text += fmt::format("{} stopped early, ", progress.stopped);
  text += fmt::format("{} failed, {} left", progress.failed, progress.left);
  if (progress.left > 0) text += "; time left: " + describe(progress.time_left);
  return text;
}

namespace {

// The standard deviation of the sum: each experiment has its own spread, and the mean of few
// experiments is uncertain itself.
std::optional<double> deviation_of(const std::vector<const Experiment*>& waiting,
                                   const ExpectedTimes& expected) {
  std::map<ExperimentKind, double> times;
  for (const Experiment* experiment : waiting) ++times[kind_of(*experiment)];
  double variance = 0;
  bool known = false;
  for (const auto& [kind, count] : times) {
    const auto moments = statistics::moments_of(expected.similar(kind));
    if (moments.count == 0) continue;  // it is counted as unknown
    if (!moments.deviation) return std::nullopt;
    known = true;
    variance += *moments.deviation * *moments.deviation *
                (count + count * count / static_cast<double>(moments.count));
  }
  return known ? std::optional(std::sqrt(variance)) : std::nullopt;
}

}  // namespace

TimeLeft time_left(const std::vector<const Experiment*>& waiting,
                   const std::vector<RunningNow>& running, const ExpectedTimes& expected) {
  TimeLeft left;
  for (const Experiment* experiment : waiting) left.add(expected.of(*experiment));
  left.deviation = deviation_of(waiting, expected);
  for (const RunningNow& one : running) left.add(one.expected_rest);
  return left;
}

std::string last_line(const std::filesystem::path& log) {
  std::ifstream stream(log, std::ios::binary | std::ios::ate);
  if (!stream) return "";
  stream.seekg(
      std::max<std::streamoff>(0, static_cast<std::streamoff>(stream.tellg()) - kTailBytes));
  std::string tail(kTailBytes, '\0');  // a fixed size, even if the log grows fast
  stream.read(tail.data(), kTailBytes);
  tail.resize(static_cast<size_t>(stream.gcount()));
  return last_line_of(tail);
}

std::string describe_log(const std::filesystem::path& log, std::string_view headline) {
  std::error_code ignored;
  if (!std::filesystem::exists(log, ignored)) return "";
  const std::string line = last_line(log);
  if (!line.empty() && headline.find(line) != std::string_view::npos) {
    return "\n  log: " + log.string();
  }
  return fmt::format("\n  > {}\n  log: {}", line.empty() ? "(the log is empty)" : line,
                     log.string());
}

std::string last_line_of(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find_last_of("\r\n");
    std::string line = without_colours(end == std::string::npos ? text : text.substr(end + 1));
    if (!line.empty()) return line;
    text = text.substr(0, end == std::string::npos ? 0 : end);
  }
  return "";
}

namespace {

// The attempts that have started but not ended: they are running now, or their driver was killed.
std::vector<RunningNow> unfinished(const KnownRun& run, const ExpectedTimes& expected) {
  std::vector<RunningNow> all;
  for (const auto& attempt : run.attempts) {
    if (!attempt.result.empty()) continue;
    const auto& made = run.queue.at(static_cast<size_t>(attempt.experiment) - 1);
    const auto begun = attempt_of(attempt.plan);
    const double seconds = seconds_since_1970() - begun.started;
    all.push_back({.experiment = made.folder,
                   .attempt = static_cast<size_t>(attempt.number),
                   .values = describe(begun.values),
                   .last_line = last_line(run.folder / made.folder / kTrainingLog),
                   .seconds = seconds,
                   .expected_seconds = expected.of(made),
                   .expected_rest = expected.rest_of(made, seconds)});
  }
  return all;
}

}  // namespace

RunState state_of_run(const KnownRun& run, const ExperimentBatch& batch) {
  ExpectedTimes expected(earlier_durations(run.folder.parent_path(), {}, run.folder));
  RunState state;
  BatchProgress& progress = state.progress;
  BestSoFar best(batch.catalog, batch.settings);
  std::vector<const Experiment*> waiting;
  for (size_t i = 0; i < run.entries.size(); ++i) {
    if (run.entries[i].result.empty()) {
      waiting.push_back(&run.queue[i]);
      if (!run.queue[i].warmup) ++progress.left;
      continue;
    }
    if (run.queue[i].warmup) continue;
    const auto result = result_of(run.entries[i].result);
    ++(result.success ? progress.succeeded : failed(result) ? progress.failed : progress.stopped);
    if (result.success) expected.add(run.queue[i], result.last.seconds);
    if (result.last.stop) expected.add_stopped(run.queue[i], result.last.seconds);
    best.add(run.queue[i], result);
  }
  progress.best = best.describe();
  state.begun = unfinished(run, expected);
  std::vector<RunningNow> running;
  if (run.driven && !state.begun.empty()) {
    running = state.begun;
    progress.running = running.front();
    progress.beside.assign(running.begin() + 1, running.end());
  }
  for (const auto& now : running) {
    std::erase_if(waiting, [&](const auto* one) { return one->folder == now.experiment; });
  }
  progress.time_left = time_left(waiting, running, expected);
  progress.time_left.share_among(run.jobs);
  return state;
}

std::string describe_state(const KnownRun& run, const BatchProgress& progress) {
  if (run.driven) return progress.running ? "running" : "running, between two experiments";
  if (progress.left == 0) return "finished";
  return run.paused.empty() ? "not running" : describe_pause(run.paused);
}

std::vector<FailedExperiment> failures_of(const KnownRun& run) {
  std::vector<FailedExperiment> all;
  for (size_t i = 0; i < run.entries.size(); ++i) {
    if (run.entries[i].result.empty()) continue;
    const auto result = result_of(run.entries[i].result);
    if (!failed(result) || run.queue[i].warmup) continue;
    const auto log = run.folder / run.queue[i].folder / kTrainingLog;
    all.push_back({.experiment = run.queue[i].folder,
                   .headline = result.last.headline,
                   .log = describe_log(log, result.last.headline)});
  }
  return all;
}

}  // namespace plimsoll::experiment
