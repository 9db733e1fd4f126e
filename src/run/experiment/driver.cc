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

#include "base/child.h"
#include "base/error.h"
#include "base/host.h"
#include "base/text_file.h"
#include "base/units.h"
#include "experiment/judging.h"
#include "io/partial_file.h"
#include "process/process_ref.h"

namespace plimsoll::experiment {
namespace {

namespace fs = std::filesystem;

constexpr int kLookMilliseconds = 200;
constexpr double kBackgroundGrace = 3;
constexpr const char* kCalmFact = "gpus_at_begin";

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

Driver::Driver(const DriverOptions& options, const BatchTexts& texts, const ExperimentBatch& batch,
               Journal& journal)
    : options_(options),
      source_(texts),
      batch_(batch),
      journal_(journal),
      summary_(batch.queue, batch.catalog),
      stopping_(batch, journal, options.say),
      expected_(options.earlier),
      best_(batch.catalog, batch.settings),
      total_(static_cast<size_t>(
          std::count_if(batch.queue.begin(), batch.queue.end(),
                        [](const Experiment& experiment) { return !experiment.warmup; }))) {
  for (const AttemptPlace& place : options.places) places_.push_back({.with = place});
}

DriverEnd Driver::run() {
  recall();
  journal_.set_paused("");
  for (;;) {
    take_signals();
    start_what_fits();
    const bool more = end_.signal == 0 && end_.paused.empty() && upcoming() != nullptr;
    if (running_count() == 0 && !more) break;
    wait();
    for (Place& place : places_) {
      if (place.running) look(*place.running);
    }
    stopping_.decide();
    for (Place& place : places_) {
      if (place.running && place.running->child->ended()) conclude(place);
    }
    settle_pending();
    show_progress();
  }
  end_.left = total_ - end_.finished();
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
  stopping_.recall();
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
    stopping_.ended(experiment, result.last);
    count(experiment, result);
  }
  mend_outputs();
}

// The next experiment that this driver has not begun; null if there is none.
const Experiment* Driver::upcoming() {
  while (next_ < batch_.queue.size() && standing_[batch_.queue[next_].number].finished) ++next_;
  return next_ == batch_.queue.size() ? nullptr : &batch_.queue[next_];
}

void Driver::start_what_fits() {
  for (Place& place : places_) {
    while (!place.running && end_.signal == 0 && end_.paused.empty()) {
      const Experiment* experiment = upcoming();
      // Nobody overtakes: if the next one has to wait, all do.
      if (experiment == nullptr || !may_start(*experiment)) return;
      if (!is_cool(place)) break;
      ++next_;
      begin(place, *experiment);
      settle_pending();
    }
  }
}

bool Driver::may_start(const Experiment& experiment) const {
  uint64_t used = terms_of(experiment).memory_bytes.value_or(0);
  bool alone = true;
  for (const Place& place : places_) {
    if (!place.running) continue;
    alone = false;
    used += place.running->memory_bytes;
    if (place.running->experiment.warmup && !experiment.warmup) return false;
  }
  return alone || !options_.memory_bytes || used <= *options_.memory_bytes;
}

// Whether the pause after the attempt before is over.
bool Driver::is_cool(Place& place) {
  const Cooldown& cooldown = batch_.settings.cooldown;
  if (cooldown.automatic && calm_.empty() && options_.read_gpus) {
    calm_ = calm_from(journal_.fact(kCalmFact));
    if (calm_.empty()) {
      calm_ = calm_of(options_.read_gpus({.kind = gate::GpuSelection::Kind::all}));
      journal_.set_fact(kCalmFact, to_text(calm_));
    }
  }
  if (!place.free_since) return true;
  const double waited = std::chrono::duration<double>(Clock::now() - *place.free_since).count();
  if (waited < cooldown.seconds) return false;
  if (!cooldown.automatic || calm_.empty() ||
      place.with.gpus.kind == gate::GpuSelection::Kind::unchanged) {
    return true;
  }
  const std::string hot = unrest(calm_, calm_of(options_.read_gpus(place.with.gpus)));
  if (hot.empty()) return true;
  if (waited < kLongestCooldown) return false;
  options_.say(
      fmt::format("cooldown: going on after {}, although {}", format_seconds(waited), hot));
  return true;
}

void Driver::begin(Place& place, const Experiment& experiment) {
  fs::create_directories(options_.folder / experiment.folder);
  // The file of a failed experiment that now runs again is out of date.
  fs::remove(options_.folder / experiment.folder / "experiment.json");
  const Retry move = next_move(experiment);
  if (move.move == Retry::Move::stop) {  // a killed driver did not get to finish it
    after_last_attempt(experiment);
  } else {
    begin_attempt(place, experiment, move.values);
  }
}

// Decides from the attempts so far: start the first attempt, repeat, or stop.
Retry Driver::next_move(const Experiment& experiment) const {
  const Standing& standing = standing_.at(experiment.number);
  Retry move{.move = Retry::Move::same, .values = experiment.training.values};
  unsigned counted = 0;
  std::map<Cause, unsigned> times;
  for (const AttemptResult& attempt : standing.attempts) {
    if (!attempt.counts) continue;
    if (attempt.cause == Cause::success || attempt.stop || experiment.warmup) return {};
    move = decide({.cause = attempt.cause,
                   .number = ++counted,
                   .times_with_that_cause = ++times[attempt.cause]},
                  batch_.settings.max_retries, terms_of(experiment), attempt.values);
  }
  return move;
}

void Driver::begin_attempt(Place& place, const Experiment& experiment, const Values& values) {
  const size_t number = ++standing_[experiment.number].last_number;
  const fs::path folder = attempt_folder(options_.folder / experiment.folder, number);
  fs::remove_all(folder);
  fs::create_directories(folder);
  give_to_caller(options_.folder / experiment.folder);
  ChildOptions child = child_options(experiment.training, place.with, values, folder);
  child.terms = terms_of(experiment);
  ask_for_room(experiment, child.terms);
  if (options_.steps) child.launcher = slurm::step_words(*options_.steps, child.terms.memory_bytes);
  auto running = std::make_unique<Running>(
      Running{.experiment = experiment,
              .number = number,
              .folder = folder,
              .result = {.started = seconds_since_1970(), .values = values},
              .memory_bytes = child.terms.memory_bytes.value_or(0),
              .began = Clock::now()});
  running->result.shared = running_count();
  const auto key = static_cast<int64_t>(experiment.number);
  const auto attempt_key = static_cast<int64_t>(number);
  journal_.begin_attempt(key, attempt_key, to_text(running->result));
  running->beside = start_load(experiment, place.with, folder / "background");
  running->child = std::make_unique<SupervisedChild>(child);
  start_recording(place.with.energy, folder);
  journal_.attempt_started(key, attempt_key, process_text(running->child->pid()));
  link_last(experiment, number);
  running->log = stopping_.follow(experiment, folder / kTrainingLog);
  place.running = std::move(running);
  const size_t others = running_count() - 1;
  for (Place& other : places_) {
    if (other.running)
      other.running->result.shared = std::max(other.running->result.shared, others);
  }
}

// Null if the experiment runs alone. The load gets its repository's terms, its own terms, and the
// experiment's environment.
std::unique_ptr<BackgroundLoad> Driver::start_load(const Experiment& experiment,
                                                   const AttemptPlace& place,
                                                   const fs::path& folder) const {
  if (!experiment.background) return nullptr;
  const Load& load = *experiment.background;
  const SettingsEntry& entry = batch_.settings.entries.at(experiment.entry);
  Terms terms = merged(batch_.catalog.find(load.repository)->terms, entry.background_terms);
  terms.environment.insert(entry.terms.environment.begin(), entry.terms.environment.end());
  BackgroundOptions options{.child = child_options(load, place, load.values, folder),
                            .most_runs = terms.background_runs,
                            .uses_gpu = options_.uses_gpu};
  // BackgroundLoad itself detects and reports an idle load; exec would end it as hung.
  options.idle_seconds = terms.idle_seconds.value_or(options.idle_seconds);
  options.child.terms = terms;
  options.child.terms.idle_seconds.reset();
  options.child.grace_seconds = kBackgroundGrace;
  return std::make_unique<BackgroundLoad>(options);
}

size_t Driver::running_count() const {
  return static_cast<size_t>(std::count_if(
      places_.begin(), places_.end(), [](const Place& place) { return place.running != nullptr; }));
}

// Until a training ends, a signal arrives, or it is time to look again.
void Driver::wait() {
  std::vector<pollfd> events = {{.fd = signals_.fd(), .events = POLLIN, .revents = 0}};
  for (const Place& place : places_) {
    if (place.running) {
      events.push_back({.fd = place.running->child->fd(), .events = POLLIN, .revents = 0});
    }
  }
  poll(events.data(), events.size(), kLookMilliseconds);
  take_signals();
}

void Driver::look(Running& running) {
  const Experiment& experiment = running.experiment;
  if (running.beside) {
    if (const auto wrong = running.beside->look()) {
      options_.say(fmt::format("{}: {}", experiment.folder, *wrong));
    }
    if (running.beside->invalid() && running.background_failed.empty()) {
      running.background_failed = running.beside->reason();
      running.child->ask_to_end();
    }
  }
  if (!running.log) return;
  stopping_.report(experiment, running.log->read());
  stopping_.decide();
  const StopRecord* stop = stopping_.stop_of(experiment);
  if (stop == nullptr || running.stopping || running.log->steps() < stop->step) return;
  running.stopping = true;
  running.child->ask_to_end();
}

void Driver::take_signals() {
  while (const auto signal = signals_.next()) {
    const bool warns = signal->number == SIGUSR1;  // of Slurm, before its time limit
    if (!warns && signal->number != SIGINT && signal->number != SIGTERM && signal->number != SIGHUP)
      continue;
    const bool again = end_.signal != 0;
    end_.signal = signal->number;
    const size_t running = running_count();
    if (running == 0) continue;
    if (warns || (signal->number == SIGINT && !again)) {
      options_.say(fmt::format("{}stopping when {} ended; {} stops {} now",
                               warns ? "SIGUSR1: " : "",
                               running == 1 ? "this attempt has" : "these attempts have",
                               warns ? "SIGTERM" : "Ctrl-C again", running == 1 ? "it" : "them"));
      continue;
    }
    stop_now_ = true;
    for (const Place& place : places_) {
      if (place.running) place.running->child->ask_to_end();
    }
  }
}

void Driver::conclude(Place& place) {
  const auto running = std::move(place.running);
  const Experiment& experiment = running->experiment;
  place.free_since = Clock::now();
  AttemptResult& result = running->result;
  if (place.with.energy != nullptr) place.with.energy->stop();
  const ChildEnd end = running->child->end();
  if (running->beside) result.background_runs = running->beside->runs();
  running->child.reset();
  running->beside.reset();
  measure(place, end, result);
  judge(*running, end, result);
  if (running->log) {
    stopping_.report(experiment, running->log->finish());
    stopping_.decide();
    result.steps = running->log->steps();
  }
  const StopRecord* stop = stopping_.stop_of(experiment);
  if (stop != nullptr && result.steps >= stop->step) {
    stop_early(experiment, *stop, running->folder, result);
  }
  auto& attempts = standing_[experiment.number].attempts;
  attempts.push_back(result);
  const Retry move = next_move(experiment);
  if (result.counts && result.cause != Cause::success && !result.stop) {
    attempts.back().after = move.reason;
  }
  journal_.end_attempt(static_cast<int64_t>(experiment.number),
                       static_cast<int64_t>(running->number), to_text(attempts.back()));
  if (move.move == Retry::Move::stop) {
    // Even if we were asked to stop: this attempt has decided the experiment.
    after_last_attempt(experiment);
    return;
  }
  if (result.counts) {
    options_.say(fmt::format("{}: {}; {}", experiment.folder, result.headline, move.reason));
  }
  if (end_.signal == 0) begin_attempt(place, experiment, move.values);
}

// The experiment has ended. It is finished as soon as early stopping has decided about all that it
// reported.
void Driver::after_last_attempt(const Experiment& experiment) {
  stopping_.ended(experiment, standing_[experiment.number].attempts.back());
  pending_.insert(experiment.number);
}

void Driver::settle_pending() {
  stopping_.decide();
  for (auto at = pending_.begin(); at != pending_.end();) {
    const Experiment& experiment = batch_.queue.at(*at - 1);
    if (!stopping_.settled(experiment)) {
      ++at;
      continue;
    }
    at = pending_.erase(at);
    Standing& standing = standing_[experiment.number];
    AttemptResult& last = standing.attempts.back();
    const StopRecord* stop = stopping_.stop_of(experiment);
    if (stop != nullptr && !last.stop && last.steps >= stop->step) {
      const fs::path folder = options_.folder / experiment.folder;
      stop_early(experiment, *stop, attempt_folder(folder, standing.last_number), last);
      journal_.end_attempt(static_cast<int64_t>(experiment.number),
                           static_cast<int64_t>(standing.last_number), to_text(last));
    }
    finish(experiment);
  }
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

// An attempt without a memory limit of its own gets its share of the limit for all.
Terms Driver::terms_of(const Experiment& experiment) const {
  Terms terms = experiment::terms_of(experiment, batch_);
  if (!terms.memory_bytes && options_.memory_bytes) {
    terms.memory_bytes = *options_.memory_bytes / std::max<size_t>(1, places_.size());
  }
  return terms;
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

// Without terms.
ChildOptions Driver::child_options(const Load& load, const AttemptPlace& place,
                                   const Values& values, const fs::path& output) const {
  const Repository& repository = *batch_.catalog.find(load.repository);
  return {.command = training_command(repository, load.model, values),
          .working_folder = folder_of(repository, source_),
          .output_folder = output,
          .run_folder = options_.folder,
          .gpus = place.gpus,
          .gpu_wait_seconds = options_.gpu_wait_seconds,
          .terms = {}};
}

}  // namespace plimsoll::experiment
