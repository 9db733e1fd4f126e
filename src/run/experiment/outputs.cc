#include "experiment/outputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/host.h"
#include "base/json.h"
#include "base/run_files.h"
#include "experiment/energy_outputs.h"
#include "experiment/judging.h"
#include "io/partial_file.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

void append(Row& cells, const Row& more) { cells.insert(cells.end(), more.begin(), more.end()); }

// Empty for an experiment that runs alone.
Row background_cells(const Experiment& experiment, const ExperimentResult& result) {
  if (!experiment.background) return {"", "", ""};
  return {experiment.background->repository, experiment.background->model,
          fmt::format("{}", result.last.background_runs)};
}

// The last columns.
Row design_columns() {
  return {"configuration", "repeat", "listed", "steps", "stopped_at_step", "jobs_beside"};
}

Row design_cells(const Experiment& experiment, const ExperimentResult& result) {
  const AttemptResult& last = result.last;
  return {experiment.configuration,
          fmt::format("{}", experiment.repeat),
          fmt::format("{}", experiment.listed),
          fmt::format("{}", last.steps),
          last.stop ? fmt::format("{}", last.stop->step) : "",
          fmt::format("{}", last.shared)};
}

Json stop_json(const std::optional<StopRecord>& stop) {
  if (!stop) return nullptr;
  return {{"policy", name(stop->policy)},
          {"step", stop->step},
          {"value",
           std::isfinite(stop->value) ? Json(stop->value) : Json(fmt::format("{}", stop->value))},
          {"reason", stop->reason}};
}

std::string error_message(const ExperimentResult& result) {
  if (!failed(result)) return "";
  return fmt::format("{}: {}", name(result.last.cause), result.last.headline);
}

Json training_json(const Load& load, const AttemptResult& last, const ExperimentResult& result) {
  return {{"repository", load.repository},
          {"model", load.model},
          {"hyperparameters", plain_json(last.values)},
          {"duration_seconds", last.seconds},
          {"energy_metrics", energy_json(last)},
          {"performance_metrics", plain_json(last.metrics)},
          {"training_success", result.success},
          {"retries", result.retries},
          {"error_message", error_message(result)}};
}

}  // namespace

SummaryTable::SummaryTable(const std::vector<Experiment>& queue, const Catalog& catalog) {
  for (const Experiment& experiment : queue) {
    const Repository* repository = catalog.find(experiment.training.repository);
    if (repository == nullptr) continue;
    for (const Hyperparameter& parameter : repository->hyperparameters) {
      add_new(parameters_, parameter.name);
    }
    for (const MetricPattern& metric : repository->metrics) add_new(metrics_, metric.name);
  }
}

Row SummaryTable::row(const Experiment& experiment, const ExperimentResult& result) const {
  Row cells = {experiment.id,
               iso_time(result.last.started),
               experiment.training.repository,
               experiment.training.model,
               result.success ? "True" : "False",
               fmt::format("{:.3f}", result.last.seconds),
               fmt::format("{}", result.retries)};
  for (const std::string& name : parameters_) {
    const Value* value = result.last.values.find(name);
    cells.push_back(value == nullptr ? "" : text_of(*value));
  }
  for (const std::string& name : metrics_) {
    const auto found = result.last.metrics.find(name);
    cells.push_back(found == result.last.metrics.end() ? "" : text_of(found->second));
  }
  append(cells, energy_cells(result.last));
  cells.emplace_back(mode_word(experiment));
  cells.emplace_back(name(result.last.cause));
  cells.push_back(result.suspicious);
  append(cells, energy_notes(result.last));
  return cells;
}

void SummaryTable::set(const Experiment& experiment, const ExperimentResult& result) {
  if (experiment.warmup) return;
  Row last = background_cells(experiment, result);
  append(last, design_cells(experiment, result));
  Line line{.cells = table_cells(row(experiment, result)), .gpus = {}, .last = table_cells(last)};
  if (result.last.energy) {
    const auto& gpus = result.last.energy->gpus;
    for (const energy::GpuFigures& gpu : gpus) {
      line.gpus[gpu.index] = table_cells(gpu_cells(gpu));
      if (gpus.size() > 1) gpu_columns_.insert(gpu.index);
    }
  }
  lines_[experiment.number] = std::move(line);
}

std::string SummaryTable::text() const {
  Row header = {"experiment_id",    "timestamp",        "repository", "model",
                "training_success", "duration_seconds", "retries"};
  for (const std::string& name : parameters_) header.push_back("hyperparam_" + name);
  for (const std::string& name : metrics_) header.push_back("perf_" + name);
  append(header, energy_columns());
  for (const char* name : {"mode", "cause", "suspicious"}) header.emplace_back(name);
  append(header, energy_note_columns());
  for (const unsigned gpu : gpu_columns_) append(header, gpu_columns(gpu));
  append(header, {"background_repository", "background_model", "background_runs"});
  append(header, design_columns());
  std::string text = table_line(header);
  const std::string no_gpu = table_cells(Row(gpu_columns(0).size()));
  for (const auto& [number, line] : lines_) {
    text += line.cells;
    for (const unsigned gpu : gpu_columns_) {
      const auto found = line.gpus.find(gpu);
      text += "," + (found == line.gpus.end() ? no_gpu : found->second);
    }
    text += "," + line.last + "\n";
  }
  return text;
}

std::string experiment_json(const Experiment& experiment, const ExperimentResult& result,
                            const std::vector<AttemptResult>& attempts) {
  Json json = {{"experiment_id", experiment.id}, {"timestamp", iso_time(result.last.started)}};
  const Json training = training_json(experiment.training, result.last, result);
  json.update(training);
  json["mode"] = mode_word(experiment);
  if (experiment.background) {
    // The counters measure packages and GPUs, not processes.
    json["energy_metrics"]["attribution"] = "foreground and background together";
    json["foreground"] = training;
    json["foreground"]["energy_metrics"] = json["energy_metrics"];
    json["background"] = {{"repository", experiment.background->repository},
                          {"model", experiment.background->model},
                          {"hyperparameters", plain_json(experiment.background->values)},
                          {"runs", result.last.background_runs}};
  }
  json["configuration"] = experiment.configuration;
  json["repeat"] = experiment.repeat;
  json["listed"] = experiment.listed;
  json["warmup"] = experiment.warmup;
  json["steps"] = result.last.steps;
  json["jobs_beside"] = result.last.shared;
  json["stop"] = stop_json(result.last.stop);
  json["cause"] = name(result.last.cause);
  json["missing_metrics"] = result.last.missing_metrics;
  json["suspicious"] = result.suspicious;
  json["attempts"] = Json::array();
  for (const AttemptResult& attempt : attempts) {
    const bool seen = attempt.cause != Cause::driver_ended;
    const auto known = [&](const auto& value) { return seen ? Json(value) : Json(nullptr); };
    json["attempts"].push_back({{"cause", name(attempt.cause)},
                                {"headline", attempt.headline},
                                {"evidence", attempt.evidence},
                                {"next_step", attempt.next_step},
                                {"then", attempt.after},
                                {"exit_code", known(attempt.exit_code)},
                                {"timestamp", iso_time(attempt.started)},
                                {"duration_seconds", known(attempt.seconds)},
                                {"cpu_seconds", known(attempt.cpu_seconds)},
                                {"peak_memory_bytes", known(attempt.peak_bytes)},
                                {"hyperparameters", plain_json(attempt.values)},
                                {"energy_metrics", energy_figures_json(attempt)},
                                {"counts", attempt.counts}});
  }
  return json_text(json) + "\n";
}

std::vector<fs::path> wrong_outputs(const OutputFacts& run, Mend mend) {
  std::vector<fs::path> wrong;
  const auto check = [&](const fs::path& file, const std::string& text) {
    if (read_text(file) == text) return;
    wrong.push_back(file);
    if (mend == Mend::no) return;
    fs::create_directories(file.parent_path());
    io::write_whole(file, text);
  };
  SummaryTable summary(run.queue, run.catalog);
  auto attempt = run.attempts.begin();
  for (size_t i = 0; i < run.entries.size(); ++i) {
    const JournalEntry& entry = run.entries[i];
    std::vector<AttemptResult> attempts;
    for (; attempt != run.attempts.end() && attempt->experiment == entry.number; ++attempt) {
      if (!attempt->result.empty()) attempts.push_back(attempt_of(attempt->result));
    }
    if (entry.result.empty()) continue;
    const ExperimentResult result = result_of(entry.result);
    summary.set(run.queue[i], result);
    check(run.folder / run.queue[i].folder / "experiment.json",
          experiment_json(run.queue[i], result, attempts));
  }
  check(run.folder / kSummaryFile, summary.text());
  return wrong;
}

void give_to_caller(const fs::path& folder) {
  const char* user = std::getenv("SUDO_UID");
  const char* group = std::getenv("SUDO_GID");
  if (user == nullptr || group == nullptr || geteuid() != 0) return;
  const auto uid = static_cast<uid_t>(std::strtoul(user, nullptr, 10));
  const auto gid = static_cast<gid_t>(std::strtoul(group, nullptr, 10));
  const auto give = [&](const fs::path& path) {
    return lchown(path.c_str(), uid, gid) == 0;  // fails harmlessly for a file that has vanished
  };
  give(folder);
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) give(entry.path());
}

}  // namespace plimsoll::experiment
