#include "experiment/early_stopping.h"

#include <utility>

namespace plimsoll::experiment {
namespace {

// Baselines and warm-ups run to their end and are not compared.
bool can_stop(const Experiment& experiment) { return !experiment.warmup && !experiment.baseline; }

}  // namespace

Terms terms_of(const Experiment& experiment, const ExperimentBatch& batch) {
  const Repository& repository = *batch.catalog.find(experiment.training.repository);
  return merged(repository.terms, batch.settings.entries.at(experiment.entry).terms);
}

EarlyStopping::EarlyStopping(const ExperimentBatch& batch, Journal& journal)
    : batch_(batch), journal_(journal) {
  std::map<size_t, std::vector<size_t>> members;  // of each entry
  for (const Experiment& experiment : batch.queue) {
    if (can_stop(experiment)) members[experiment.entry].push_back(experiment.number);
  }
  for (auto& [entry, numbers] : members) {
    const Terms terms = terms_of(batch.queue.at(numbers.front() - 1), batch);
    if (!terms.stop || !terms.objective) continue;
    rules_[entry] = *terms.stop;
    boards_.emplace(entry, StopBoard(*terms.stop, terms.objective->maximize, std::move(numbers)));
  }
}

StopBoard* EarlyStopping::board_of(const Experiment& experiment) {
  const auto found = boards_.find(experiment.entry);
  return found == boards_.end() || !can_stop(experiment) ? nullptr : &found->second;
}

void EarlyStopping::recall() {
  for (const JournalReport& known : journal_.reports()) {
    const auto number = static_cast<size_t>(known.experiment);
    const auto report = report_of(known.report);
    if (!report || number > batch_.queue.size()) continue;
    StopBoard* board = board_of(batch_.queue[number - 1]);
    if (board == nullptr) continue;
    if (known.decision.empty()) {
      board->report(number, *report);
      continue;
    }
    const bool stop = known.decision == "stop";
    board->recall(number, *report, stop);
    if (!stop) continue;
    const StopRule& rule = rules_.at(batch_.queue[number - 1].entry);
    stops_[number] = {.policy = std::string(name(rule.policy)),
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
    if (!rules_.at(experiment.entry).decides_at(report.step)) continue;
    journal_.report({.experiment = static_cast<int64_t>(experiment.number),
                     .step = static_cast<int64_t>(report.step),
                     .report = to_text(report),
                     .decision = "",
                     .reason = ""});
    board->report(experiment.number, report);
  }
}

void EarlyStopping::ended(const Experiment& experiment) {
  if (StopBoard* board = board_of(experiment)) board->ended(experiment.number);
}

void EarlyStopping::decide() {
  for (auto& [entry, board] : boards_) {
    while (const auto made = board.next()) {
      const bool stop = made->decision.stop;
      journal_.report({.experiment = static_cast<int64_t>(made->experiment),
                       .step = static_cast<int64_t>(made->report.step),
                       .report = to_text(made->report),
                       .decision = stop ? "stop" : "continue",
                       .reason = made->decision.reason});
      if (!stop) continue;
      stops_[made->experiment] = {.policy = std::string(name(rules_.at(entry).policy)),
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
