#include "experiment/driver.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "experiment/success.h"
#include "process/process_ref.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr unsigned kPauseAfter = 5;  // failures in a row with one cause
constexpr int kLookMilliseconds = 200;
constexpr double kBackgroundGrace = 3;
constexpr int kRefused = 125;  // exec's code for a command that was not started

double now_since_epoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void read_log(const fs::path& file, LogReader& reader) {
  std::ifstream log(file, std::ios::binary);
  for (std::string line; std::getline(log, line);) read_lines(line, reader);
}

std::string last_line(const fs::path& file) {
  std::ifstream log(file, std::ios::binary | std::ios::ate);
  if (!log) return "";
  constexpr std::streamoff kTail = 400;
  log.seekg(std::max<std::streamoff>(0, static_cast<std::streamoff>(log.tellg()) - kTail));
  std::string text{std::istreambuf_iterator<char>(log), {}};
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const size_t end = text.find_last_of("\r\n");
  return end == std::string::npos ? text : text.substr(end + 1);
}

std::string process_text(pid_t pid) {
  const auto stat = process::read_stat(pid);
  return fmt::format("{} {} {}", process::boot_id(), pid, stat ? stat->start_ticks : 0);
}

// The training begins when exec opens its log: before, it waits for its GPUs.
void start_recording(energy::Recorder* recorder, const fs::path& folder) {
  if (recorder == nullptr) return;
  recorder->start(folder / "energy", [log = folder / "training.log"] {
    std::error_code ignored;
    return fs::exists(log, ignored);
  });
}

}  // namespace

Driver::Driver(const DriverOptions& options, const Source& source, const Batch& batch,
               Journal& journal)
    : options_(options),
      source_(source),
      batch_(batch),
      journal_(journal),
      summary_(batch.queue, batch.catalog) {}

DriverEnd Driver::run() {
  recall();
  for (const Experiment& experiment : batch_.queue) {
    if (standing_[experiment.number].result) continue;
    if (end_.signal != 0 || !end_.paused.empty()) {
      ++end_.left;
      continue;
    }
    run_experiment(experiment);
    if (!standing_[experiment.number].result) ++end_.left;
  }
  write_whole(options_.folder / "summary.csv", summary_.text());
  give_to_caller(options_.folder);
  return end_;
}

// What the journal knows: the results, and attempts that a killed driver left without one.
void Driver::recall() {
  for (const JournalAttempt& known : journal_.attempts()) {
    Standing& standing = standing_[static_cast<size_t>(known.experiment)];
    standing.last_number = static_cast<size_t>(known.number);
    if (known.result.empty()) {
      AttemptResult lost{.cause = "driver_ended", .headline = "the driver ended before it"};
      lost.counts = false;
      journal_.end_attempt(known.experiment, known.number, to_text(lost));
      standing.attempts.push_back(lost);
    } else {
      standing.attempts.push_back(attempt_of(known.result));
    }
  }
  for (const JournalEntry& entry : journal_.entries()) {
    if (entry.result.empty()) continue;
    Standing& standing = standing_[static_cast<size_t>(entry.number)];
    standing.result = result_of(entry.result);
    const Experiment& experiment = batch_.queue.at(static_cast<size_t>(entry.number) - 1);
    summary_.set(experiment, *standing.result);
    // A driver that was killed between journal and files left these behind.
    const fs::path file = options_.folder / experiment.folder / "experiment.json";
    if (!fs::exists(file)) {
      write_whole(file, experiment_json(experiment, *standing.result, standing.attempts));
    }
    ++(standing.result->success ? end_.succeeded : end_.failed);
  }
  write_whole(options_.folder / "summary.csv", summary_.text());
}

void Driver::run_experiment(const Experiment& experiment) {
  Standing& standing = standing_[experiment.number];
  fs::create_directories(options_.folder / experiment.folder);
  for (;;) {
    const Retry move = next_move(experiment);
    if (move.move == Retry::Move::stop) break;
    const AttemptResult result = attempt(experiment, move.values, ++standing.last_number);
    standing.attempts.push_back(result);
    if (result.counts && !result.after.empty()) {
      options_.say(fmt::format("{}: {}; {}", experiment.folder, result.headline, result.after));
    }
    if (end_.signal == 0) continue;
    // Asked to stop: an attempt that decides the experiment still does.
    if (!result.counts || next_move(experiment).move != Retry::Move::stop) return;
  }
  finish(experiment);
}

// Over the attempts so far: the first, the next, or none.
Retry Driver::next_move(const Experiment& experiment) const {
  const Standing& standing = standing_.at(experiment.number);
  Retry move{.move = Retry::Move::same, .values = experiment.training.values};
  unsigned counted = 0;
  std::map<std::string, unsigned> times;
  for (const AttemptResult& attempt : standing.attempts) {
    if (!attempt.counts) continue;
    if (attempt.cause == "success") return {};
    move = decide({.cause = attempt.cause,
                   .number = ++counted,
                   .times_with_that_cause = ++times[attempt.cause]},
                  batch_.settings.max_retries, terms_of(experiment), attempt.values);
  }
  return move;
}

AttemptResult Driver::attempt(const Experiment& experiment, const Values& values, size_t number) {
  const fs::path folder = options_.folder / experiment.folder / fmt::format("attempt_{}", number);
  fs::remove_all(folder);
  fs::create_directories(folder);
  const Terms terms = terms_of(experiment);
  const auto options = child_options(experiment.training, terms, values, folder);
  const auto key = static_cast<int64_t>(experiment.number);
  const auto attempt_key = static_cast<int64_t>(number);
  AttemptResult result{.started = now_since_epoch(), .values = values};
  journal_.begin_attempt(key, attempt_key, to_text(result));
  background_failed_ = false;
  ChildEnd end;
  {
    std::unique_ptr<BackgroundLoad> beside;
    if (experiment.background) {
      ChildOptions load = child_options(*experiment.background, {}, experiment.background->values,
                                        folder / "background");
      load.grace_seconds = kBackgroundGrace;
      beside = std::make_unique<BackgroundLoad>(load, terms.background_runs);
    }
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
    const auto seconds = end.has_result ? std::optional(end.seconds) : std::nullopt;
    result.energy = std::make_shared<energy::Report>(options_.energy->report(seconds));
  }
  judge(experiment, end, folder, result);
  standing_[experiment.number].attempts.push_back(result);  // for the policy alone
  if (result.counts && result.cause != "success") result.after = next_move(experiment).reason;
  standing_[experiment.number].attempts.pop_back();
  journal_.end_attempt(key, attempt_key, to_text(result));
  return result;
}

void Driver::watch(const Experiment& experiment, SupervisedChild& child, BackgroundLoad* beside) {
  const auto began = Clock::now();
  auto shown = began;
  while (!child.ended()) {
    std::array<pollfd, 2> events = {
        {{.fd = child.fd(), .events = POLLIN}, {.fd = signals_.fd(), .events = POLLIN}}};
    poll(events.data(), events.size(), kLookMilliseconds);
    if (events[1].revents != 0) take_signals(child);
    if (beside != nullptr) {
      if (const auto wrong = beside->look()) {
        options_.say(fmt::format("{}: {}", experiment.folder, *wrong));
      }
      if (beside->invalid() && !background_failed_) {
        background_failed_ = true;
        child.ask_to_end();
      }
    }
    const auto now = Clock::now();
    if (now - shown < std::chrono::seconds(1)) continue;
    shown = now;
    show_progress(experiment, std::chrono::duration<double>(now - began).count());
  }
  take_signals(child);
}

void Driver::take_signals(const SupervisedChild& child) {
  while (const auto signal = signals_.next()) {
    if (signal->number != SIGINT && signal->number != SIGTERM && signal->number != SIGHUP) continue;
    const bool again = end_.signal != 0;
    end_.signal = signal->number;
    if (signal->number == SIGINT && !again) {
      options_.say("stopping when this attempt has ended; Ctrl-C again stops it now");
      continue;
    }
    stop_now_ = true;
    child.ask_to_end();
  }
}

void Driver::judge(const Experiment& experiment, const ChildEnd& end, const fs::path& folder,
                   AttemptResult& result) const {
  const Repository& repository = *batch_.catalog.find(experiment.training.repository);
  const Terms terms = terms_of(experiment);
  LogReader log(repository.metrics, patterns_of(terms));
  read_log(folder / "training.log", log);
  AttemptFacts facts{.cause = end.cause, .seconds = end.seconds};
  if (!end.has_result && end.exit_code == kRefused && !options_.gpus.empty()) {
    facts.cause = kNotAdmitted;
  }
  const Success judged = judge_success(facts, repository.metrics, terms, log);
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
  if (background_failed_) {
    result.cause = kBackground;
    result.headline = "the load beside it was none, three times";
  }
  if (stop_now_ && result.cause != "success") {
    result.cause = "interrupted";
    result.counts = false;
  }
}

void Driver::finish(const Experiment& experiment) {
  Standing& standing = standing_[experiment.number];
  ExperimentResult result;
  for (const AttemptResult& attempt : standing.attempts) {
    if (!attempt.counts) continue;
    if (!result.last.cause.empty()) ++result.retries;
    result.last = attempt;
  }
  result.success = result.last.cause == "success";
  if (result.success) {
    result.suspicious =
        suspiciously_short(result.last.seconds, other_durations(experiment)).value_or("");
  }
  journal_.finish(static_cast<int64_t>(experiment.number), to_text(result));
  standing.result = result;
  summary_.set(experiment, result);
  const fs::path folder = options_.folder / experiment.folder;
  write_whole(folder / "experiment.json", experiment_json(experiment, result, standing.attempts));
  write_whole(options_.folder / "summary.csv", summary_.text());
  give_to_caller(folder);
  ++(result.success ? end_.succeeded : end_.failed);
  options_.say(fmt::format("[{}/{}] {} {} in {}{}", end_.succeeded + end_.failed,
                           batch_.queue.size(), experiment.folder,
                           result.success ? "succeeded" : "failed: " + result.last.headline,
                           format_seconds(result.last.seconds),
                           result.suspicious.empty() ? "" : "; suspicious: " + result.suspicious));
  count_failure(result);
}

void Driver::count_failure(const ExperimentResult& result) {
  const std::string cause = result.success ? "" : result.last.cause;
  same_cause_ = cause == last_cause_ ? same_cause_ + 1 : 1;
  last_cause_ = cause;
  if (cause.empty() || options_.keep_going || same_cause_ < kPauseAfter) return;
  end_.paused = fmt::format("{} ({})", cause, result.last.headline);
}

// training.log and energy/ of the folder are the last attempt's, where users' scripts look for
// them.
void Driver::link_last(const Experiment& experiment, size_t number) const {
  for (const char* name : {"training.log", "energy"}) {
    const fs::path link = options_.folder / experiment.folder / name;
    std::error_code ignored;
    fs::remove(link, ignored);
    fs::create_symlink(fmt::format("attempt_{}/{}", number, name), link, ignored);
  }
}

void Driver::show_progress(const Experiment& experiment, double seconds) const {
  if (!options_.show) return;
  const auto others = other_durations(experiment);
  double sum = 0;
  for (const double other : others) sum += other;
  const std::string expected =
      others.empty()
          ? ""
          : fmt::format(" of about {}", format_seconds(sum / static_cast<double>(others.size())));
  options_.show(fmt::format("[{}/{}] {} {}{} | {}", end_.succeeded + end_.failed + 1,
                            batch_.queue.size(), experiment.folder, format_seconds(seconds),
                            expected,
                            last_line(options_.folder / experiment.folder / "training.log")));
}

Terms Driver::terms_of(const Experiment& experiment) const {
  const Repository& repository = *batch_.catalog.find(experiment.training.repository);
  return merged(repository.terms, batch_.settings.entries.at(experiment.entry).terms);
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

std::vector<double> Driver::other_durations(const Experiment& experiment) const {
  std::vector<double> seconds;
  for (const Experiment& other : batch_.queue) {
    if (other.entry != experiment.entry || other.number == experiment.number) continue;
    const auto found = standing_.find(other.number);
    if (found == standing_.end() || !found->second.result) continue;
    if (found->second.result->success) seconds.push_back(found->second.result->last.seconds);
  }
  return seconds;
}

}  // namespace plimsoll::experiment
