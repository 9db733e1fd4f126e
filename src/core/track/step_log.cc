#include "track/step_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/partial_file.h"
#include "track/event_file.h"

namespace plimsoll::track {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostLineBytes = 64 * 1024;  // ours are a few hundred

struct KeptLines {
  uint64_t bytes = 0;
  uint64_t last_step = 0;
};

// The step of a line; 0 if it is not one of ours.
uint64_t step_of(std::string_view line, std::string_view before_step) {
  if (!line.starts_with(before_step)) return 0;
  line.remove_prefix(before_step.size());
  uint64_t step = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), step);
  const bool whole = error == std::errc() && end != line.data() + line.size() && *end == ',';
  return whole ? step : 0;
}

KeptLines lines_to_keep(const fs::path& path, const LineLog::Layout& layout, uint64_t last_step) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(kMostLineBytes);
  KeptLines kept;
  bool first = !layout.header.empty();
  while (file.getline(buffer.data(), static_cast<std::streamsize>(buffer.size())) && !file.eof()) {
    const auto bytes = static_cast<size_t>(file.gcount());
    const std::string_view line(buffer.data(), bytes - 1);
    if (first) {
      if (line != layout.header) return {};
      first = false;
    } else {
      const uint64_t step = step_of(line, layout.before_step);
      if (step <= kept.last_step || step > last_step) break;
      kept.last_step = step;
    }
    kept.bytes += bytes;
  }
  return kept;
}

// Replacing a file costs milliseconds on a busy disk, appending to one microseconds. Nobody reads
// metrics more often than this.
constexpr double kPrometheusSeconds = 1;
constexpr double kMostWhole = 9007199254740992;  // 2^53: up to here a double has every whole number

bool is_whole(double value) { return std::abs(value) < kMostWhole && value == std::floor(value); }

// Bytes and counts without a decimal point.
std::string number_text(double value) {
  return is_whole(value) ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

nlohmann::ordered_json number_json(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (is_whole(value)) return static_cast<int64_t>(value);
  return value;
}

// "1763452800.123"
std::string time_text(double time) { return fmt::format("{:.3f}", time); }

}  // namespace

std::string_view name(LogKind kind) {
  switch (kind) {
    case LogKind::tensorboard:
      return "tensorboard";
    case LogKind::csv:
      return "csv";
    case LogKind::prometheus:
      return "prometheus";
    case LogKind::jsonl:
      return "jsonl";
    case LogKind::optuna:
      return "optuna";
  }
  return "";
}

LogKinds parse_logs(std::string_view text, std::span<const LogKind> known) {
  LogKinds kinds;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    const auto found = std::ranges::find_if(known, [&](LogKind one) { return name(one) == word; });
    if (found == known.end()) {
      std::vector<std::string_view> words;
      for (const LogKind one : known) words.push_back(name(one));
      fail(ErrorKind::usage, "--log: '{}' is not a log; there are {}, written like {},{}", word,
           fmt::join(words, ", "), words[0], words[1]);
    }
    kinds.insert(*found);
    if (comma == std::string_view::npos) return kinds;
    text.remove_prefix(comma + 1);
  }
}

std::string format_logs(const LogKinds& kinds) {
  std::vector<std::string_view> words;
  for (const LogKind kind : kinds) words.push_back(name(kind));
  return fmt::format("{}", fmt::join(words, ","));
}

bool is_log_file(std::string_view name) {
  return name == kHistoryTable || name == kHistoryLines || name == kPrometheusFile ||
         is_event_file(name);
}

LogKinds logs_in(const fs::path& folder) {
  LogKinds kinds;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    const std::string file = entry.path().filename().string();
    if (file == kHistoryTable) kinds.insert(LogKind::csv);
    if (file == kHistoryLines) kinds.insert(LogKind::jsonl);
    if (file == kPrometheusFile) kinds.insert(LogKind::prometheus);
    if (is_event_file(file)) kinds.insert(LogKind::tensorboard);
  }
  return kinds;
}

LineLog::LineLog(const fs::path& file, const Layout& layout, uint64_t last_step)
    : path_(file.string()),
      file_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (!file_) fail_errno("write", path_, errno);
  const KeptLines kept = lines_to_keep(file, layout, last_step);
  if (::ftruncate(file_.get(), static_cast<off_t>(kept.bytes)) != 0) {
    fail_errno("write", path_, errno);
  }
  last_step_ = kept.last_step;
  if (kept.bytes == 0 && !layout.header.empty()) add(layout.header);
}

void LineLog::add(std::string_view line) {
  std::string text(line);
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_errno("write", path_, errno);
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

StepLog::StepLog(StepLogOptions options, std::span<const LogStep> past, double time)
    : options_(std::move(options)) {
  open(past, time);
}

void StepLog::open(std::span<const LogStep> past, double time) {
  const uint64_t last_step = past.empty() ? 0 : past.back().step;
  if (options_.kinds.contains(LogKind::csv)) {
    std::string header = options_.step_name;
    for (const LogColumn& column : options_.columns) header += "," + column.name;
    table_ = std::make_unique<LineLog>(options_.folder / kHistoryTable,
                                       LineLog::Layout{header + ",time", ""}, last_step);
    for (const LogStep& step : past) {
      if (step.step > table_->last_step()) table_->add(table_line(step));
    }
  }
  if (options_.kinds.contains(LogKind::jsonl)) {
    lines_ = std::make_unique<LineLog>(
        options_.folder / kHistoryLines,
        LineLog::Layout{"", fmt::format("{{\"{}\":", options_.step_name)}, last_step);
    for (const LogStep& step : past) {
      if (step.step > lines_->last_step()) lines_->add(json_line(step));
    }
  }
  if (options_.kinds.contains(LogKind::tensorboard)) open_events(past, time);
  if (!past.empty()) last_ = past.back();
  last_.values.resize(options_.columns.size(), std::nan(""));
  last_.time = time;
  if (options_.kinds.contains(LogKind::prometheus)) write_prometheus(last_, "running");
}

void StepLog::open_events(std::span<const LogStep> past, double time) {
  const uint64_t last_step = past.empty() ? 0 : past.back().step;
  const uint64_t kept = keep_events(options_.folder, last_step);
  events_ = std::make_unique<EventFile>(options_.folder, time);
  if (kept == 0) {
    events_->add(hparams_event({.time = time}, options_.settings, options_.final_tags));
    events_->add(hparams_start_event({.time = time}, options_.settings, options_.group));
  } else {
    // For a TensorBoard that has already read what was cut off.
    events_->add(session_event({.time = time, .step = kept + 1}, SessionMark::start));
  }
  for (const LogStep& step : past) {
    if (step.step > kept) write_events(step);
  }
  events_->flush();
}

template <typename Write>
void StepLog::attempt(LogKind kind, const Write& write) {
  if (!options_.kinds.contains(kind)) return;
  try {
    write();
  } catch (const Error& error) {
    options_.kinds.erase(kind);
    if (options_.failed) {
      options_.failed(fmt::format("the {} log ends here: {}", name(kind), error.what()));
    }
  }
}

void StepLog::add(const LogStep& step) {
  last_ = step;
  attempt(LogKind::csv, [&] { table_->add(table_line(step)); });
  attempt(LogKind::jsonl, [&] { lines_->add(json_line(step)); });
  attempt(LogKind::tensorboard, [&] {
    write_events(step);
    events_->flush();
  });
  attempt(LogKind::prometheus, [&] {
    const double since = step.time - prometheus_time_;
    if (since >= kPrometheusSeconds || since < 0) write_prometheus(step, "running");
  });
}

void StepLog::end(const Ending& ending) {
  if (ending.over) {
    attempt(LogKind::tensorboard, [&] {
      const Moment moment{.time = ending.time, .step = last_.step};
      events_->add(session_event(moment, SessionMark::stop));
      if (!ending.results.empty()) events_->add(scalars_event(moment, ending.results));
      events_->add(hparams_end_event(moment, ending.success));
      events_->flush();
    });
  }
  last_.time = ending.time;
  attempt(LogKind::prometheus, [&] { write_prometheus(last_, ending.state); });
}

void StepLog::write_events(const LogStep& step) {
  std::vector<Scalar> scalars;
  for (size_t i = 0; i < options_.columns.size(); ++i) {
    if (!std::isnan(step.values[i])) scalars.push_back({options_.columns[i].tag, step.values[i]});
  }
  events_->add(scalars_event({.time = step.time, .step = step.step}, scalars));
}

void StepLog::write_prometheus(const LogStep& step, std::string_view state) {
  PrometheusText text;
  const auto named = [&](std::string_view name) {
    return fmt::format("{}{}", options_.metric_prefix, name);
  };
  text.gauge(named(options_.step_name),
             fmt::format("The last {} that has ended.", options_.step_name), options_.labels,
             static_cast<double>(step.step));
  for (size_t i = 0; i < options_.columns.size(); ++i) {
    if (std::isnan(step.values[i])) continue;
    text.gauge(named(options_.columns[i].name), options_.columns[i].help, options_.labels,
               step.values[i]);
  }
  std::vector<PrometheusLabel> labels = options_.labels;
  labels.push_back({"state", std::string(state)});
  text.gauge(named("state"), "1 for the state of the run.", labels, 1);
  text.gauge(named("updated_seconds"), "When this file was written, in seconds since 1970.",
             options_.labels, step.time);
  prometheus_time_ = step.time;
  io::write_whole(options_.folder / kPrometheusFile, text.text(), io::Sync::no);
}

std::string StepLog::table_line(const LogStep& step) {
  std::string line = fmt::format("{}", step.step);
  for (const double value : step.values) {
    line += std::isnan(value) ? std::string(",") : "," + number_text(value);
  }
  return line + "," + time_text(step.time);
}

std::string StepLog::json_line(const LogStep& step) const {
  nlohmann::ordered_json json = {{options_.step_name, step.step}};
  for (size_t i = 0; i < options_.columns.size(); ++i) {
    json[options_.columns[i].name] = number_json(step.values[i]);
  }
  json["time"] = std::round(step.time * 1000) / 1000;
  return json.dump();
}

}  // namespace plimsoll::track
