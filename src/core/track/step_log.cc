#include "track/step_log.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "io/partial_file.h"

namespace plimsoll::track {
namespace {

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

std::string StepLog::table_line(const LogStep& step) const {
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
