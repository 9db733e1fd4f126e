// What the driver makes of attempts that have ended: verdicts, results, files, and the progress.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/child.h"
#include "base/run_files.h"
#include "base/text_file.h"
#include "base/units.h"
#include "experiment/driver.h"
#include "experiment/judging.h"
#include "io/partial_file.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kShowAgain{1};
constexpr unsigned kPauseAfter = 5;  // failures in a row with the same cause

std::string describe_end(const ExperimentResult& result) {
  const std::string seconds = format_seconds(result.last.seconds);
  const std::string& headline = result.last.headline;
  std::string text = "succeeded";
  if (result.last.stop) return fmt::format("stopped early in {}: {}", seconds, headline);
  if (!result.success) text = headline.starts_with("failed") ? headline : "failed: " + headline;
  // A headline like "timed out after 3.1 s" already contains the duration.
  if (text.find(seconds) == std::string::npos) text += " in " + seconds;
  if (result.success && !result.last.missing_metrics.empty()) {
    text += fmt::format("; not in its log: {}", fmt::join(result.last.missing_metrics, ", "));
  }
  if (!result.suspicious.empty()) text += "; suspicious: " + result.suspicious;
  return text;
}

}  // namespace

size_t reopen_failed(Journal& journal) {
  std::map<int64_t, Reopened> reopened;
  for (const JournalEntry& entry : journal.entries()) {
    if (entry.result.empty() || !failed(result_of(entry.result))) continue;
    if (experiment_of(entry.plan).warmup) continue;
    reopened[entry.number].experiment = entry.number;
  }
  for (JournalAttempt& known : journal.attempts()) {
    const auto found = reopened.find(known.experiment);
    if (found == reopened.end()) continue;
    AttemptResult attempt = attempt_of(known.result.empty() ? known.plan : known.result);
    attempt.counts = false;
    known.result = to_text(attempt);
    found->second.attempts.push_back(std::move(known));
  }
  std::vector<Reopened> all;
  all.reserve(reopened.size());
  for (auto& [number, again] : reopened) all.push_back(std::move(again));
  if (!all.empty()) journal.reopen(all);
  return all.size();
}

// Repairs the files after a power loss, or after a driver was killed between writing the journal
// and the files. At the end of a batch it also writes what flag_short_ones() found.
void Driver::mend_outputs() const {
  const auto entries = journal_.entries();
  const auto attempts = journal_.attempts();
  wrong_outputs({.folder = options_.folder,
                 .catalog = batch_.catalog,
                 .queue = batch_.queue,
                 .entries = entries,
                 .attempts = attempts},
                Mend::yes);
}

// Adds the energy. If other experiments of the batch ran meanwhile, the CPU's includes theirs.
void Driver::measure(Place& place, const ChildEnd& end, AttemptResult& result) {
  if (place.with.energy == nullptr) return;
  const auto seconds = end.ran ? std::optional(end.seconds) : std::nullopt;
  auto report = std::make_shared<energy::EnergyReport>(place.with.energy->report(seconds));
  if (result.shared > 0) {
    for (energy::Figure* figure : {&report->cpu.package, &report->cpu.memory, &report->cpu.total}) {
      if (!figure->joules) continue;
      figure->quality = energy::Quality::shared;
      figure->reason =
          fmt::format("{} of this batch ran beside it", counted(result.shared, "experiment"));
    }
  }
  result.energy = std::move(report);
}

void Driver::judge(const Running& running, const ChildEnd& end, AttemptResult& result) const {
  const Experiment& experiment = running.experiment;
  const Repository& repository = *batch_.catalog.find(experiment.training.repository);
  const Terms terms = terms_of(experiment);
  LogReader log(repository.metrics, patterns_of(terms));
  for_each_line(running.folder / kTrainingLog, [&](std::string_view line) { log.line(line); });
  const Success judged =
      judge_success({.cause = end.cause, .seconds = end.seconds}, repository.metrics, terms, log);
  result.cause = judged.cause;
  result.headline = judged.reason.empty() ? end.headline : judged.reason;
  result.evidence = end.evidence;
  result.next_step = end.next_step;
  result.exit_code = end.exit_code;
  result.seconds = end.seconds;
  result.cpu_seconds = end.cpu_seconds;
  result.peak_bytes = end.peak_bytes;
  result.metrics = log.metrics();
  result.missing_metrics = judged.missing_metrics;
  if (!running.background_failed.empty()) {
    result.cause = Cause::background_invalid;
    result.headline =
        "its background load was not valid, three times in a row: " + running.background_failed;
    result.evidence = "plimsoll ended it because of that; it did not fail itself";
    result.next_step = fmt::format("see {} for the output of the load",
                                   shell_word((running.folder / "background").string()));
  }
  if (stop_now_ && result.cause != Cause::success) {
    result.cause = Cause::interrupted;
    result.counts = false;
  }
}

// The figures are those of the step, however far the training came before it ended.
void Driver::stop_early(const Experiment& experiment, const StopRecord& stop,
                        const fs::path& folder, AttemptResult& result) const {
  const Repository& repository = *batch_.catalog.find(experiment.training.repository);
  result.stop = stop;
  result.steps = stop.step;
  result.cause = Cause::stopped_early;
  result.headline = stop.reason;
  result.evidence = "plimsoll ended it because of that; it did not fail itself";
  result.next_step = "";
  result.after = "";
  result.counts = true;
  result.missing_metrics.clear();
  result.metrics = metrics_at(folder / kTrainingLog, repository.metrics,
                              *terms_of(experiment).objective, stop.step);
}

void Driver::finish(const Experiment& experiment) {
  Standing& standing = standing_[experiment.number];
  ExperimentResult result;
  unsigned counted = 0;
  for (const AttemptResult& attempt : standing.attempts) {
    if (!attempt.counts) continue;
    ++counted;
    result.last = attempt;
  }
  result.retries = counted - 1;
  result.success = result.last.cause == Cause::success;
  if (result.success) {
    result.suspicious =
        suspiciously_short(result.last.seconds, seconds_[experiment.entry]).value_or("");
  }
  journal_.finish(static_cast<int64_t>(experiment.number), to_text(result));
  const fs::path folder = options_.folder / experiment.folder;
  io::write_whole(folder / "experiment.json",
                  experiment_json(experiment, result, standing.attempts));
  count(experiment, result);
  io::write_whole(options_.folder / kSummaryFile, summary_.text());
  if (options_.finished) options_.finished(experiment, result);
  give_to_caller(folder);
  const std::string place =
      experiment.warmup ? "warm-up" : fmt::format("{}/{}", end_.finished(), total_);
  std::string end = describe_end(result);
  if (failed(result)) {
    if (!result.last.after.empty()) end += "; " + result.last.after;
    end += describe_log(folder / kTrainingLog, result.last.headline);
  }
  options_.say(fmt::format("[{}] {} {}", place, experiment.folder, end));
  if (!experiment.warmup) count_failure(result);
}

// Adds a finished experiment to the table, the counts and the expected times.
void Driver::count(const Experiment& experiment, const ExperimentResult& result) {
  Standing& standing = standing_[experiment.number];
  standing.finished = true;
  standing.attempts = {};
  if (experiment.warmup) return;
  summary_.set(experiment, result);
  ++(result.success ? end_.succeeded : failed(result) ? end_.failed : end_.stopped);
  if (result.last.stop) expected_.add_stopped(experiment, result.last.seconds);
  if (!result.success) return;
  seconds_[experiment.entry].push_back(result.last.seconds);
  expected_.add(experiment, result.last.seconds);
  best_.add(experiment, result);
}

// When an experiment ends, longer ones may still follow. So at the end of the batch all durations
// are compared again.
void Driver::flag_short_ones() {
  for (const JournalEntry& entry : journal_.entries()) {
    if (entry.result.empty()) continue;
    ExperimentResult result = result_of(entry.result);
    const Experiment& experiment = batch_.queue.at(static_cast<size_t>(entry.number) - 1);
    if (!result.success || !result.suspicious.empty() || experiment.warmup) continue;
    std::vector<double> others = seconds_[experiment.entry];
    const auto own = std::find(others.begin(), others.end(), result.last.seconds);
    if (own != others.end()) others.erase(own);
    const auto suspicious = suspiciously_short(result.last.seconds, std::move(others));
    if (!suspicious) continue;
    result.suspicious = *suspicious;
    journal_.finish(entry.number, to_text(result));
    options_.say(fmt::format("{} is suspicious: {}", experiment.folder, result.suspicious));
  }
}

void Driver::count_failure(const ExperimentResult& result) {
  const Cause cause = result.last.cause;
  same_cause_ = cause == last_cause_ ? same_cause_ + 1 : 1;
  last_cause_ = cause;
  if (!failed(result) || options_.keep_going || same_cause_ < kPauseAfter) return;
  end_.paused = fmt::format("{} ({})", name(cause), result.last.headline);
}

RunningNow Driver::running_now(const Running& running, Clock::time_point now) const {
  const Experiment& experiment = running.experiment;
  const double seconds = std::chrono::duration<double>(now - running.began).count();
  return {.experiment = experiment.folder,
          .attempt = running.number,
          .values = describe(running.result.values),
          .last_line = last_line(running.folder / kTrainingLog),
          .seconds = seconds,
          .expected_seconds = expected_.of(experiment),
          .expected_rest = expected_.rest_of(experiment, seconds)};
}

void Driver::show_progress() {
  const auto now = Clock::now();
  if (!options_.show || now - shown_ < kShowAgain) return;
  shown_ = now;
  BatchProgress progress{.succeeded = end_.succeeded,
                         .failed = end_.failed,
                         .left = total_ - end_.finished(),
                         .best = best_.describe(),
                         .stopped = end_.stopped};
  std::vector<RunningNow> running;
  std::vector<const Experiment*> waiting;
  for (const Experiment& experiment : batch_.queue) {
    const auto found = standing_.find(experiment.number);
    const bool begun = experiment.number <= next_;
    const bool finished = found != standing_.end() && found->second.finished;
    if (!finished && !begun) waiting.push_back(&experiment);
  }
  for (const Place& place : places_) {
    if (place.running) running.push_back(running_now(*place.running, now));
  }
  std::stable_sort(running.begin(), running.end(),
                   [](const RunningNow& a, const RunningNow& b) { return a.seconds > b.seconds; });
  if (!running.empty()) {
    progress.running = running.front();
    progress.beside.assign(running.begin() + 1, running.end());
  }
  progress.time_left = time_left(waiting, running, expected_);
  progress.time_left.share_among(places_.size());
  options_.show(progress);
}

}  // namespace plimsoll::experiment
