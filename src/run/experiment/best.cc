#include "experiment/best.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "statistics/sample.h"

namespace plimsoll::experiment {
namespace {

constexpr std::array kSmaller = {"loss",   "error",  "err",     "perplexity", "ppl",    "mse",
                                 "rmse",   "mae",    "mape",    "nll",        "bpc",    "wer",
                                 "cer",    "fid",    "seconds", "time",       "ms",     "latency",
                                 "energy", "joules", "watts",   "memory",     "bytes",  "duration",
                                 "co2",    "cost",   "eer",     "divergence", "regret", "brier"};

// The words of "valLoss", "eval_loss" and "test-error", in small letters.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  char before = ' ';
  for (const char c : name) {
    const auto is = [&](auto test) { return test(static_cast<unsigned char>(c)) != 0; };
    const bool hump = is(::isupper) && std::islower(static_cast<unsigned char>(before)) != 0;
    if ((!is(::isalnum) || hump) && !words.back().empty()) words.emplace_back();
    if (is(::isalnum)) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    before = c;
  }
  return words;
}

}  // namespace

bool smaller_is_better(std::string_view figure) {
  return std::ranges::any_of(words_of(figure), [](const std::string& word) {
    return std::ranges::any_of(kSmaller, [&](const char* known) {
      return word == known || (std::string_view(known) == "loss" && word.ends_with("loss"));
    });
  });
}

Values without_nuisances(const Values& values, const Repository* repository) {
  Values left;
  for (const auto& named : values.all) {
    const auto* known = repository == nullptr ? nullptr : repository->find(named.name);
    if (known == nullptr || !known->nuisance) left.all.push_back(named);
  }
  return left;
}

std::string configuration_name(const Experiment& experiment, const Values& values,
                               const Catalog& catalog) {
  std::string beside;
  if (experiment.background) {
    const Load& load = *experiment.background;
    beside = fmt::format(" beside {}/{} ({})", load.repository, load.model, describe(load.values));
  }
  const Load& training = experiment.training;
  return fmt::format(
      "{}/{}{}: {}", training.repository, training.model, beside,
      experiment::describe(without_nuisances(values, catalog.find(training.repository))));
}

std::optional<Objective> objective_of(const Repository& repository, const Settings& settings) {
  std::optional<Objective> objective = repository.terms.objective;
  for (const SettingsEntry& entry : settings.entries) {
    if (entry.foreground.repository != repository.name || !entry.terms.objective) continue;
    objective = entry.terms.objective;
    break;
  }
  if (objective || repository.metrics.empty()) return objective;
  const std::string& first = repository.metrics.front().name;
  return Objective{.metric = first, .maximize = !smaller_is_better(first)};
}

BestSoFar::BestSoFar(const Catalog& catalog, const Settings& settings) : catalog_(catalog) {
  for (const Repository& repository : catalog.repositories) {
    if (auto objective = objective_of(repository, settings)) {
      objective_[repository.name] = *std::move(objective);
    }
  }
}

void BestSoFar::add(const Experiment& experiment, const ExperimentResult& result) {
  const auto objective = objective_.find(experiment.training.repository);
  if (!result.success || experiment.warmup || objective == objective_.end()) return;
  const auto found = result.last.metrics.find(objective->second.metric);
  if (found == result.last.metrics.end() || !std::isfinite(found->second.number)) return;
  values_[objective->first][configuration_name(experiment, result.last.values, catalog_)].push_back(
      found->second.number);
}

std::string BestSoFar::describe() const {
  std::string text;
  for (const auto& [repository, configurations] : values_) {
    const Objective& objective = objective_.at(repository);
    const double sign = objective.maximize ? -1 : 1;
    const auto best = std::ranges::min_element(configurations, {}, [&](const auto& one) {
      return sign * statistics::moments_of(one.second).mean;
    });
    const auto moments = statistics::moments_of(best->second);
    text += fmt::format("{}{} {} (n {}), {}", text.empty() ? "" : "; ", objective.metric,
                        statistics::format_spread(moments.mean, moments.deviation), moments.count,
                        best->first);
  }
  return text;
}

}  // namespace plimsoll::experiment
