#include "experiment/early_stopping.h"

#include <fmt/format.h>

#include <sstream>
#include <utility>

#include "base/units.h"

namespace plimsoll::experiment {
namespace {

// Baselines and warm-ups run to their end and are not compared.
bool can_stop(const Experiment& experiment) { return !experiment.warmup && !experiment.baseline; }

// The journal's name for the training that decides min_steps: "2 27" is experiment 2, 27 steps.
std::string length_fact(size_t entry) { return fmt::format("stop_length_{}", entry + 1); }

std::optional<StopLength> length_of(const std::string& text) {
  StopLength length;
  std::istringstream words(text);
  if (!(words >> length.experiment >> length.steps)) return std::nullopt;
  return length;
}

}  // namespace

Terms terms_of(const Experiment& experiment, const ExperimentBatch& batch) {
  const Repository& repository = *batch.catalog.find(experiment.training.repository);
  return merged(repository.terms, batch.settings.entries.at(experiment.entry).terms);
}

EarlyStopping::EarlyStopping(const ExperimentBatch& batch, Journal& journal,
                             std::function<void(const std::string&)> say)
    : batch_(batch), journal_(journal), say_(std::move(say)) {
  std::map<size_t, std::vector<size_t>> members;  // of each entry
  std::map<size_t, std::map<size_t, size_t>> settings;
  std::map<std::pair<size_t, std::string>, size_t> first_of;
  for (const Experiment& experiment : batch.queue) {
    if (!can_stop(experiment)) continue;
    members[experiment.entry].push_back(experiment.number);
    settings[experiment.entry][experiment.number] =
        first_of.try_emplace({experiment.entry, experiment.configuration}, experiment.number)
            .first->second;
  }
  for (auto& [entry, numbers] : members) {
    const Terms terms = terms_of(batch.queue.at(numbers.front() - 1), batch);
    if (!terms.stop || !terms.objective) continue;
    boards_.emplace(entry, StopBoard(*terms.stop, terms.objective->maximize, std::move(numbers),
                                     std::move(settings[entry])));
  }
}

StopBoard* EarlyStopping::board_of(const Experiment& experiment) {
  const auto found = boards_.find(experiment.entry);
  return found == boards_.end() || !can_stop(experiment) ? nullptr : &found->second;
}

void EarlyStopping::recall() {
  for (auto& [entry, board] : boards_) {
    if (board.rule().known()) continue;
    if (const auto length = length_of(journal_.fact(length_fact(entry)))) board.set_length(*length);
  }
  for (const JournalReport& known : journal_.reports()) {
    const auto number = static_cast<size_t>(known.experiment);
    const auto report = report_of(known.report);
    if (!report || number > batch_.queue.size()) continue;
    StopBoard* board = board_of(batch_.queue[number - 1]);
    if (board == nullptr) continue;
    if (known.decision == StepDecision::none) {
      board->report(number, *report);
      continue;
    }
    const bool stop = known.decision == StepDecision::stop;
    board->recall(number, *report, stop);
    if (!stop) continue;
    stops_[number] = {.policy = board->rule().policy,
                      .step = report->step,
                      .value = report->value,
                      .reason = known.reason};
  }
}

std::unique_ptr<LogFollower> EarlyStopping::follow(const Experiment& experiment,
                                                   const std::filesystem::path& log) const {
  const Terms terms = terms_of(experiment, batch_);
  if (!terms.objective) return nullptr;
  const Repository& repository = *batch_.catalog.find(experiment.training.repository);
  return std::make_unique<LogFollower>(log, repository.metrics, *terms.objective);
}

void EarlyStopping::report(const Experiment& experiment, const std::vector<Report>& reports) {
  StopBoard* board = board_of(experiment);
  if (board == nullptr) return;
  for (const Report& report : reports) {
    board->report(experiment.number, report);
    if (!board->rule().decides_at(report.step)) continue;
    journal_.report({.experiment = static_cast<int64_t>(experiment.number),
                     .step = static_cast<int64_t>(report.step),
                     .report = to_text(report),
                     .decision = StepDecision::none,
                     .reason = ""});
  }
}

void EarlyStopping::ended(const Experiment& experiment, const AttemptResult& last) {
  StopBoard* board = board_of(experiment);
  if (board == nullptr) return;
  const bool success = last.cause == Cause::success;
  const bool known = board->rule().known();
  board->ended(experiment.number, last.steps, success);
  const auto& length = board->length();
  if (!known && length) {
    journal_.set_fact(length_fact(experiment.entry),
                      fmt::format("{} {}", length->experiment, length->steps));
    say_length(batch_.queue.at(length->experiment - 1), length->steps, board->rule());
  } else if (known && !length && success && lengths_said_.insert(experiment.entry).second) {
    say_length(experiment, last.steps, board->rule());
  }
}

// Says when the decisions come, if the length of the first training decides that, or why none can.
void EarlyStopping::say_length(const Experiment& experiment, uint64_t steps,
                               const StopRule& rule) const {
  const std::string metric = terms_of(experiment, batch_).objective->metric;
  const std::string reported =
      fmt::format("stop: {} reported {} {}", experiment.folder, metric, counted(steps, "time"));
  if (steps <= 1) {
    say_(reported + ", so nothing is stopped early; print it while the training runs");
  } else if (steps <= rule.min_steps) {
    say_(fmt::format("{}, so nothing is stopped early: min_steps is {}; lower it or leave it out",
                     reported, rule.min_steps));
  } else if (rule.by_length) {
    say_(fmt::format("{}, so {} decides from step {} on", reported, name(rule.policy),
                     rule.min_steps));
  }
}

void EarlyStopping::decide() {
  for (auto& [entry, board] : boards_) {
    while (const auto made = board.next()) {
      const bool stop = made->decision.stop;
      journal_.report({.experiment = static_cast<int64_t>(made->experiment),
                       .step = static_cast<int64_t>(made->report.step),
                       .report = to_text(made->report),
                       .decision = stop ? StepDecision::stop : StepDecision::go_on,
                       .reason = made->decision.reason});
      if (!stop) continue;
      stops_[made->experiment] = {.policy = board.rule().policy,
                                  .step = made->report.step,
                                  .value = made->report.value,
                                  .reason = made->decision.reason};
    }
  }
}

const StopRecord* EarlyStopping::stop_of(const Experiment& experiment) const {
  const auto found = stops_.find(experiment.number);
  return found == stops_.end() ? nullptr : &found->second;
}

bool EarlyStopping::settled(const Experiment& experiment) const {
  const auto found = boards_.find(experiment.entry);
  return found == boards_.end() || !can_stop(experiment) ||
         found->second.settled(experiment.number);
}

}  // namespace plimsoll::experiment
