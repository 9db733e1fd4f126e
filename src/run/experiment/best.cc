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
constexpr std::array kSeeds = {"seed", "random_seed", "manual_seed", "random_state", "rng_seed"};

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

bool names_a_seed(std::string_view hyperparameter) {
  return std::ranges::any_of(kSeeds, [&](const char* known) { return hyperparameter == known; });
}

Values without_seeds(const Values& values) {
  Values left;
  for (const auto& named : values.all) {
    if (!names_a_seed(named.name)) left.all.push_back(named);
  }
  return left;
}

std::string configuration_name(const Experiment& experiment, const Values& values) {
  std::string beside;
  if (experiment.background) {
    const Load& load = *experiment.background;
    beside = fmt::format(" beside {}/{} ({})", load.repository, load.model, describe(load.values));
  }
  return fmt::format("{}/{}{}: {}", experiment.training.repository, experiment.training.model,
                     beside, experiment::describe(without_seeds(values)));
}

BestSoFar::BestSoFar(const Catalog& catalog) {
  for (const Repository& repository : catalog.repositories) {
    if (!repository.metrics.empty()) metric_[repository.name] = repository.metrics.front().name;
  }
}

void BestSoFar::add(const Experiment& experiment, const ExperimentResult& result) {
  const auto metric = metric_.find(experiment.training.repository);
  if (!result.success || metric == metric_.end()) return;
  const auto found = result.last.metrics.find(metric->second);
  if (found == result.last.metrics.end() || !std::isfinite(found->second.number)) return;
  values_[metric->first][configuration_name(experiment, result.last.values)].push_back(
      found->second.number);
}

std::string BestSoFar::describe() const {
  std::string text;
  for (const auto& [repository, configurations] : values_) {
    const std::string& metric = metric_.at(repository);
    const double sign = smaller_is_better(metric) ? 1 : -1;
    const auto best = std::ranges::min_element(configurations, {}, [&](const auto& one) {
      return sign * statistics::moments_of(one.second).mean;
    });
    const auto moments = statistics::moments_of(best->second);
    text += fmt::format("{}{} {} (n {}), {}", text.empty() ? "" : "; ", metric,
                        statistics::format_spread(moments.mean, moments.deviation), moments.count,
                        best->first);
  }
  return text;
}

}  // namespace plimsoll::experiment
