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
#include "gate/policy.h"
#include "statistics/sample.h"

namespace plimsoll::experiment {

// Empty if there is no GPU driver or it fails now: that must not fail a batch.
std::vector<meter::GpuReading> MachineWatch::gpus(bool with_holders) {
  if (!std::exchange(opened_, true) && gpus_ != "none") access_ = meter::open_gpus();
  if (!access_.gpus) return {};
  try {
    return gate::choose_gpus(gpus_,
                             with_holders ? access_.gpus->read() : access_.gpus->read_counters(),
                             Host::real().variable("CUDA_VISIBLE_DEVICES"));
  } catch (const Error&) {
    access_.gpus.reset();
    return {};
  }
}

bool MachineWatch::compute_for(const std::vector<pid_t>& processes) {
  const auto is_one_of_them = [&](const meter::GpuHolder& holder) {
    return std::find(processes.begin(), processes.end(), holder.pid) != processes.end();
  };
  const auto all = gpus(true);
  return std::any_of(all.begin(), all.end(), [&](const meter::GpuReading& gpu) {
    return gpu.utilisation_percent.value_or(1) > 0 &&
           std::any_of(gpu.holders.begin(), gpu.holders.end(), is_one_of_them);
  });
}

experiment::MachineNow MachineWatch::read() {
  experiment::MachineNow now{.gpus = gpus(false)};
  const std::string text = read_text("/proc/meminfo").value_or("");
  now.ram_total_bytes = number_of(text, "MemTotal:").value_or(0) * kKiB;
  now.ram_used_bytes = now.ram_total_bytes - number_of(text, "MemAvailable:").value_or(0) * kKiB;
  return now;
}

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

}  // namespace plimsoll::experiment
