#include "experiment/driver.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/shell_word.h"
#include "base/text_file.h"
#include "base/units.h"
#include "experiment/judging.h"
#include "io/partial_file.h"
#include "process/process_ref.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrainingLog = "training.log";
constexpr std::chrono::seconds kShowAgain{1};
constexpr unsigned kPauseAfter = 5;  // failures in a row with the same cause
constexpr int kLookMilliseconds = 200;
constexpr double kBackgroundGrace = 3;

double now_since_epoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string describe_end(const ExperimentResult& result) {
  const std::string seconds = format_seconds(result.last.seconds);
  const std::string& headline = result.last.headline;
  std::string text = "succeeded";
  if (!result.success) text = headline.starts_with("failed") ? headline : "failed: " + headline;
  // A headline like "timed out after 3.1 s" already contains the duration.
  if (text.find(seconds) == std::string::npos) text += " in " + seconds;
  if (result.success && !result.last.missing_metrics.empty()) {
    text += fmt::format("; not in its log: {}", fmt::join(result.last.missing_metrics, ", "));
  }
  if (!result.suspicious.empty()) text += "; suspicious: " + result.suspicious;
  return text;
}

fs::path attempt_folder(const fs::path& experiment, size_t number) {
  return experiment / fmt::format("attempt_{}", number);
}

std::string process_text(pid_t pid) {
  const auto stat = process::read_stat(pid);
  return fmt::format("{} {} {}", process::boot_id(), pid, stat ? stat->start_ticks : 0);
}

// The training starts when exec opens its log; before that, exec waits for the GPUs.
void start_recording(energy::Recorder* recorder, const fs::path& folder) {
  if (recorder == nullptr) return;
  recorder->start(folder / "energy", [log = folder / kTrainingLog] {
    std::error_code ignored;
    return fs::exists(log, ignored);
  });
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

Driver::Driver(const DriverOptions& options, const BatchTexts& source, const ExperimentBatch& batch,
               Journal& journal)
    : options_(options),
      source_(source),
      batch_(batch),
      journal_(journal),
      summary_(batch.queue, batch.catalog),
      expected_(options.earlier),
      total_(static_cast<size_t>(
          std::count_if(batch.queue.begin(), batch.queue.end(),
                        [](const Experiment& experiment) { return !experiment.warmup; }))) {}

DriverEnd Driver::run() {
  recall();
  journal_.set_paused("");
  for (const Experiment& experiment : batch_.queue) {
    if (standing_[experiment.number].finished) continue;
    take_signals(nullptr);
    const bool counts = !experiment.warmup;
    if (end_.signal != 0 || !end_.paused.empty()) {
      if (counts) ++end_.left;
      continue;
    }
    run_experiment(experiment);
    if (!standing_[experiment.number].finished && counts) ++end_.left;
  }
  if (end_.left == 0) end_.paused.clear();  // nothing is left to run
  journal_.set_paused(end_.paused);
  flag_short_ones();
  mend_outputs();
  give_to_caller(options_.folder);
  return end_;
}

// Restores the state from the journal: results, and attempts that a killed driver left without a
// result.
void Driver::recall() {
  for (const JournalAttempt& known : journal_.attempts()) {
    Standing& standing = standing_[static_cast<size_t>(known.experiment)];
    standing.last_number = static_cast<size_t>(known.number);
    if (known.result.empty()) {
      AttemptResult lost = attempt_of(known.plan);
      lost.headline = "the driver ended during this attempt";
      lost.counts = false;
      journal_.end_attempt(known.experiment, known.number, to_text(lost));
      standing.attempts.push_back(lost);
    } else {
      standing.attempts.push_back(attempt_of(known.result));
    }
  }
  for (const JournalEntry& entry : journal_.entries()) {
    if (entry.result.empty()) continue;
    const ExperimentResult result = result_of(entry.result);
    const Experiment& experiment = batch_.queue.at(static_cast<size_t>(entry.number) - 1);
    count(experiment, result);
  }
  mend_outputs();
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

void Driver::run_experiment(const Experiment& experiment) {
  Standing& standing = standing_[experiment.number];
  fs::create_directories(options_.folder / experiment.folder);
  // The file of a failed experiment that now runs again is out of date.
  fs::remove(options_.folder / experiment.folder / "experiment.json");
  for (;;) {
    const Retry move = next_move(experiment);
    if (move.move == Retry::Move::stop) break;
    const AttemptResult result = attempt(experiment, move.values, ++standing.last_number);
    standing.attempts.push_back(result);
    if (result.counts && !result.after.empty()) {
      options_.say(fmt::format("{}: {}; {}", experiment.folder, result.headline, result.after));
    }
    if (end_.signal == 0) continue;
    // We were asked to stop. If this attempt decides the experiment, still finish it.
    if (!result.counts || next_move(experiment).move != Retry::Move::stop) return;
  }
  finish(experiment);
}

// Decides from the attempts so far: start the first attempt, repeat, or stop.
Retry Driver::next_move(const Experiment& experiment) const {
  const Standing& standing = standing_.at(experiment.number);
  Retry move{.move = Retry::Move::same, .values = experiment.training.values};
  unsigned counted = 0;
  std::map<Cause, unsigned> times;
  for (const AttemptResult& attempt : standing.attempts) {
    if (!attempt.counts) continue;
    if (attempt.cause == Cause::success || experiment.warmup) return {};
    move = decide({.cause = attempt.cause,
                   .number = ++counted,
                   .times_with_that_cause = ++times[attempt.cause]},
                  batch_.settings.max_retries, terms_of(experiment), attempt.values);
  }
  return move;
}

AttemptResult Driver::attempt(const Experiment& experiment, const Values& values, size_t number) {
  const fs::path folder = attempt_folder(options_.folder / experiment.folder, number);
  fs::remove_all(folder);
  fs::create_directories(folder);
  give_to_caller(options_.folder / experiment.folder);
  Terms terms = terms_of(experiment);
  ask_for_room(experiment, terms);
  const auto options = child_options(experiment.training, terms, values, folder);
  const auto key = static_cast<int64_t>(experiment.number);
  const auto attempt_key = static_cast<int64_t>(number);
  AttemptResult result{.started = now_since_epoch(), .values = values};
  running_values_ = values;
  journal_.begin_attempt(key, attempt_key, to_text(result));
  background_failed_.clear();
  ChildEnd end;
  {
    const auto beside = start_load(experiment, folder / "background");
    SupervisedChild child(options);
    start_recording(options_.energy, folder);
    journal_.attempt_started(key, attempt_key, process_text(child.pid()));
    link_last(experiment, number);
    watch(experiment, child, beside.get());
    if (options_.energy != nullptr) options_.energy->stop();
    end = child.end();
    if (beside) result.background_runs = beside->runs();
  }
  if (options_.energy != nullptr) {
    const auto seconds = end.ran ? std::optional(end.seconds) : std::nullopt;
    result.energy = std::make_shared<energy::EnergyReport>(options_.energy->report(seconds));
  }
  judge(experiment, end, folder, result);
  standing_[experiment.number].attempts.push_back(result);  // only for next_move()
  if (result.counts && result.cause != Cause::success) result.after = next_move(experiment).reason;
  standing_[experiment.number].attempts.pop_back();
  journal_.end_attempt(key, attempt_key, to_text(result));
  return result;
}

// Null if the experiment runs alone. The load gets its repository's terms, its own terms, and the
// experiment's environment.
std::unique_ptr<BackgroundLoad> Driver::start_load(const Experiment& experiment,
                                                   const fs::path& folder) const {
  if (!experiment.background) return nullptr;
  const Load& load = *experiment.background;
  const SettingsEntry& entry = batch_.settings.entries.at(experiment.entry);
  Terms terms = merged(batch_.catalog.find(load.repository)->terms, entry.background_terms);
  terms.environment.insert(entry.terms.environment.begin(), entry.terms.environment.end());
  BackgroundOptions options{.child = child_options(load, terms, load.values, folder),
                            .most_runs = terms.background_runs,
                            .uses_gpu = options_.uses_gpu};
  // BackgroundLoad itself detects and reports an idle load; exec would end it as hung.
  options.idle_seconds = terms.idle_seconds.value_or(options.idle_seconds);
  options.child.terms.idle_seconds.reset();
  options.child.grace_seconds = kBackgroundGrace;
  return std::make_unique<BackgroundLoad>(options);
}

void Driver::watch(const Experiment& experiment, SupervisedChild& child, BackgroundLoad* beside) {
  const auto began = Clock::now();
  while (!child.ended()) {
    std::array<pollfd, 2> events = {
        {{.fd = child.fd(), .events = POLLIN}, {.fd = signals_.fd(), .events = POLLIN}}};
    poll(events.data(), events.size(), kLookMilliseconds);
    if (events[1].revents != 0) take_signals(&child);
    if (beside != nullptr) {
      if (const auto wrong = beside->look()) {
        options_.say(fmt::format("{}: {}", experiment.folder, *wrong));
      }
      if (beside->invalid() && background_failed_.empty()) {
        background_failed_ = beside->reason();
        child.ask_to_end();
      }
    }
    const auto now = Clock::now();
    if (!options_.show || now - shown_ < kShowAgain) continue;
    shown_ = now;
    options_.show(progress(experiment, std::chrono::duration<double>(now - began).count()));
  }
  take_signals(&child);
}

// `child` is the running attempt; null between attempts.
void Driver::take_signals(const SupervisedChild* child) {
  while (const auto signal = signals_.next()) {
    if (signal->number != SIGINT && signal->number != SIGTERM && signal->number != SIGHUP) continue;
    const bool again = end_.signal != 0;
    end_.signal = signal->number;
    if (child == nullptr) continue;
    if (signal->number == SIGINT && !again) {
      options_.say("stopping when this attempt has ended; Ctrl-C again stops it now");
      continue;
    }
    stop_now_ = true;
    child->ask_to_end();
  }
}

void Driver::judge(const Experiment& experiment, const ChildEnd& end, const fs::path& folder,
                   AttemptResult& result) const {
  const Repository& repository = *batch_.catalog.find(experiment.training.repository);
  const Terms terms = terms_of(experiment);
  LogReader log(repository.metrics, patterns_of(terms));
  for_each_line(folder / kTrainingLog, [&](std::string_view line) { log.line(line); });
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
  if (!background_failed_.empty()) {
    result.cause = Cause::background_invalid;
    result.headline =
        "its background load was not valid, three times in a row: " + background_failed_;
    result.evidence = "plimsoll ended it because of that; it did not fail itself";
    result.next_step = fmt::format("see {} for the output of the load",
                                   shell_word((folder / "background").string()));
  }
  if (stop_now_ && result.cause != Cause::success) {
    result.cause = Cause::interrupted;
    result.counts = false;
  }
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
  io::write_whole(options_.folder / "summary.csv", summary_.text());
  give_to_caller(folder);
  const std::string place =
      experiment.warmup ? "warm-up" : fmt::format("{}/{}", end_.succeeded + end_.failed, total_);
  options_.say(fmt::format("[{}] {} {}{}", place, experiment.folder, describe_end(result),
                           result.success ? "" : describe_log(folder / kTrainingLog)));
  if (!experiment.warmup) count_failure(result);
}

// Adds a finished experiment to the table, the counts and the expected times.
void Driver::count(const Experiment& experiment, const ExperimentResult& result) {
  Standing& standing = standing_[experiment.number];
  standing.finished = true;
  standing.attempts = {};
  if (experiment.warmup) return;
  summary_.set(experiment, result);
  ++(result.success ? end_.succeeded : end_.failed);
  if (!result.success) return;
  seconds_[experiment.entry].push_back(result.last.seconds);
  expected_.add(experiment, result.last.seconds);
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
  if (result.success || options_.keep_going || same_cause_ < kPauseAfter) return;
  end_.paused = fmt::format("{} ({})", name(cause), result.last.headline);
}

// Links training.log and energy/ in the experiment's folder to the last attempt: users' scripts
// look for them there.
void Driver::link_last(const Experiment& experiment, size_t number) const {
  for (const char* name : {kTrainingLog, "energy"}) {
    const fs::path link = options_.folder / experiment.folder / name;
    std::error_code ignored;
    fs::remove(link, ignored);
    fs::create_symlink(fmt::format("attempt_{}/{}", number, name), link, ignored);
  }
}

BatchProgress Driver::progress(const Experiment& running, double seconds) const {
  BatchProgress now{
      .running = RunningNow{.experiment = running.folder,
                            .attempt = standing_.at(running.number).last_number,
                            .values = describe(running_values_),
                            .last_line = last_line(options_.folder / running.folder / kTrainingLog),
                            .seconds = seconds,
                            .expected_seconds = expected_.of(running)},
      .succeeded = end_.succeeded,
      .failed = end_.failed,
      .left = total_ - end_.succeeded - end_.failed};
  std::vector<const Experiment*> waiting;
  for (const Experiment& experiment : batch_.queue) {
    const auto found = standing_.find(experiment.number);
    const bool finished = found != standing_.end() && found->second.finished;
    if (!finished && experiment.number != running.number) waiting.push_back(&experiment);
  }
  now.time_left = time_left(waiting, now.running, expected_);
  return now;
}

Terms Driver::terms_of(const Experiment& experiment) const {
  const Repository& repository = *batch_.catalog.find(experiment.training.repository);
  return merged(repository.terms, batch_.settings.entries.at(experiment.entry).terms);
}

// If an earlier attempt failed because other processes held the GPU, its result says how much
// memory it needs. The gate then waits for that.
void Driver::ask_for_room(const Experiment& experiment, Terms& terms) const {
  const size_t attempts = standing_.at(experiment.number).last_number;
  for (size_t number = 1; number < attempts; ++number) {
    const auto needed =
        gpu_room_needed(attempt_folder(options_.folder / experiment.folder, number));
    if (needed) terms.gpu_free_bytes = std::max(*needed, terms.gpu_free_bytes.value_or(0));
  }
}

ChildOptions Driver::child_options(const Load& load, const Terms& terms, const Values& values,
                                   const fs::path& output) const {
  const Repository& repository = *batch_.catalog.find(load.repository);
  return {.command = training_command(repository, load.model, values),
          .working_folder = folder_of(repository, source_),
          .output_folder = output,
          .run_folder = options_.folder,
          .gpus = options_.gpus,
          .gpu_wait_seconds = options_.gpu_wait_seconds,
          .terms = terms};
}

}  // namespace plimsoll::experiment
