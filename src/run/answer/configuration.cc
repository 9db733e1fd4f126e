#include "answer/configuration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "experiment/best.h"

namespace plimsoll::answer {
namespace {

using experiment::add_new;
using experiment::AttemptResult;
using experiment::Values;

constexpr double kJoulesPerKwh = 3.6e6;
constexpr const char* kCpu = "CPU";
constexpr const char* kGpu = "GPU";
constexpr std::array kOwnFigures = {kSeconds, kEnergy, kCo2, kCost};
constexpr std::string_view kMetricPrefix = "perf_";  // as in summary.csv

struct PartFigure {
  const char* part;
  const energy::Figure* figure;
};

std::vector<PartFigure> parts_of(const AttemptResult& attempt) {
  if (!attempt.energy) return {};
  return {{kCpu, &attempt.energy->cpu.total}, {kGpu, &attempt.energy->all_gpus}};
}

// The names that the model config has, in its order, and others that only the results have.
void collect_names(const std::vector<Outcome>& outcomes, const experiment::Catalog& catalog,
                   Configurations& all) {
  for (const Outcome& outcome : outcomes) {
    const auto* repository = catalog.find(outcome.experiment.training.repository);
    if (repository == nullptr) continue;
    for (const auto& parameter : repository->hyperparameters) {
      if (parameter.nuisance) {
        all.nuisances.insert(parameter.name);
      } else {
        add_new(all.parameters, parameter.name);
      }
    }
    for (const auto& metric : repository->metrics) {
      add_new(all.metrics, figure_of_metric(metric.name));
    }
  }
  for (const Outcome& outcome : outcomes) {
    const auto* repository = catalog.find(outcome.experiment.training.repository);
    for (const auto& named :
         experiment::without_nuisances(outcome.result.last.values, repository).all) {
      add_new(all.parameters, named.name);
    }
    for (const auto& [name, value] : outcome.result.last.metrics) {
      add_new(all.metrics, figure_of_metric(name));
    }
  }
}

void note_energy(const Outcome& outcome, Configurations& all) {
  const AttemptResult& last = outcome.result.last;
  if (!last.energy) {
    for (const char* part : {kCpu, kGpu}) all.energy_missing[part].insert("it was not measured");
  }
  for (const auto& [part, figure] : parts_of(last)) {
    if (figure->joules) {
      if (outcome.result.success) all.energy_parts.insert(part);
    } else {
      all.energy_missing[part].insert(figure->reason);
    }
  }
}

void add_energy(const AttemptResult& last, const Configurations& all, Configuration& one) {
  const auto joules = energy_of(last, all.energy_parts);
  if (!joules) return;
  one.figures[kEnergy].add(*joules);
  const double kwh = *joules / kJoulesPerKwh;
  if (all.prices.grams_per_kwh) one.figures[kCo2].add(kwh * *all.prices.grams_per_kwh);
  if (all.prices.price_per_kwh) one.figures[kCost].add(kwh * *all.prices.price_per_kwh);
  bool shared = last.shared > 0;  // with other experiments of the batch
  for (const auto& [part, figure] : parts_of(last)) {
    if (!figure->joules) continue;
    shared = shared || figure->quality == energy::Quality::shared;
    one.least_coverage = std::min(one.least_coverage, figure->coverage);
  }
  one.shared += shared ? 1 : 0;
}

void add_outcome(const Outcome& outcome, Configurations& all, Configuration& one) {
  const AttemptResult& last = outcome.result.last;
  ++one.runs;
  ++all.runs;
  if (!outcome.result.suspicious.empty()) ++all.suspicious;
  if (last.cause == experiment::Cause::stopped_early) {
    ++one.stopped;
    ++all.stopped;
    if (!last.stop) return;
    one.values_at_stop.add(last.stop->value);
    one.first_stop = one.stopped == 1 ? last.stop->step : std::min(one.first_stop, last.stop->step);
    one.last_stop = std::max(one.last_stop, last.stop->step);
    return;
  }
  if (!outcome.result.success) {
    const std::string cause(diagnosis::name(last.cause));
    ++one.failures[cause];
    ++all.failures[cause];
    return;
  }
  ++one.succeeded;
  ++all.succeeded;
  one.figures[kSeconds].add(last.seconds);
  for (const auto& [name, value] : last.metrics) {
    one.figures[figure_of_metric(name)].add(value.number);
  }
  add_energy(last, all, one);
}

std::string background_of(const experiment::Experiment& made) {
  if (!made.background) return "";
  const experiment::Load& load = *made.background;
  return fmt::format("{}/{} ({})", load.repository, load.model, describe(load.values));
}

}  // namespace

std::string figure_of_metric(const std::string& metric) {
  std::string_view name = metric;
  while (name.starts_with(kMetricPrefix)) name.remove_prefix(kMetricPrefix.size());
  // "time" is a name of kSeconds on the command line.
  const bool own = name == "time" || std::ranges::any_of(kOwnFigures, [&](const char* figure) {
                     return name == figure;
                   });
  return own ? std::string(kMetricPrefix) + metric : metric;
}

void FigureValues::add(double number) {
  if (std::isfinite(number)) {
    numbers.push_back(number);
  } else {
    ++not_numbers[std::isnan(number) ? "nan" : fmt::format("{}", number)];
  }
}

std::optional<double> energy_of(const AttemptResult& attempt, const std::set<std::string>& parts) {
  double sum = 0;
  size_t found = 0;
  for (const auto& [part, figure] : parts_of(attempt)) {
    if (!parts.contains(part) || !figure->joules) continue;
    sum += *figure->joules;
    ++found;
  }
  if (found == 0 || found < parts.size()) return std::nullopt;
  return sum;
}

Configurations group(const std::vector<Outcome>& outcomes, const experiment::Catalog& catalog,
                     const EnergyPrices& prices) {
  Configurations all;
  all.prices = prices;
  collect_names(outcomes, catalog, all);
  for (const Outcome& outcome : outcomes) note_energy(outcome, all);
  std::map<std::string, size_t> index;
  std::set<std::pair<size_t, std::string>> seeds;  // by configuration
  for (const Outcome& outcome : outcomes) {
    const auto& made = outcome.experiment;
    const Values& values = outcome.result.last.values;
    const auto [found, is_new] =
        index.try_emplace(experiment::configuration_name(made, values, catalog), all.all.size());
    if (is_new) {
      all.all.push_back({.number = all.all.size() + 1,
                         .repository = made.training.repository,
                         .model = made.training.model,
                         .background = background_of(made),
                         .values = experiment::without_nuisances(
                             values, catalog.find(made.training.repository))});
    }
    Configuration& one = all.all[found->second];
    one.members.push_back(static_cast<size_t>(&outcome - outcomes.data()));
    add_outcome(outcome, all, one);
    const bool seeded = values.all.size() > one.values.all.size();
    if (!outcome.result.success || !seeded) continue;
    const bool is_new_seed = seeds.insert({one.number, experiment::describe(values)}).second;
    if (!is_new_seed) ++one.same_seed;
  }
  return all;
}

void refuse_nuisance(const Configurations& configurations, const std::string& asked,
                     const std::string& name) {
  if (!configurations.nuisances.contains(name)) return;
  fail(ErrorKind::usage,
       "{}: {} is a nuisance, not a parameter: experiments that differ only in it are repeats of "
       "one configuration, which n counts",
       asked, name);
}

std::string same_seed_note(size_t repeats) {
  return fmt::format(
      "{} the same seed as another repeat of its configuration and may be a copy of it; "
      "\"repeats\" in the settings gives each its own seed",
      repeats == 1 ? "1 repeat has" : fmt::format("{} repeats have", repeats));
}

std::string counts_of_causes(const std::map<std::string, size_t>& causes) {
  std::string text;
  for (const auto& [cause, times] : causes) {
    const bool own = cause == diagnosis::name(experiment::Cause::failed);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", own ? "own error" : cause, times);
  }
  return text;
}

void keep_only(Configurations& configurations,
               const std::function<bool(const Configuration&)>& keep) {
  std::erase_if(configurations.all, [&](const Configuration& one) { return !keep(one); });
  configurations.runs = configurations.succeeded = configurations.stopped = 0;
  configurations.failures.clear();
  for (const Configuration& one : configurations.all) {
    configurations.runs += one.runs;
    configurations.succeeded += one.succeeded;
    configurations.stopped += one.stopped;
    for (const auto& [cause, times] : one.failures) configurations.failures[cause] += times;
  }
}

size_t Configurations::last_number() const {
  size_t last = 0;
  for (const Configuration& one : all) last = std::max(last, one.number);
  return last;
}

std::vector<std::string> Configurations::figures() const {
  std::vector<std::string> names;
  const auto add_if_known = [&](const std::string& name) {
    const bool known = std::ranges::any_of(
        all, [&](const Configuration& one) { return one.figures.contains(name); });
    if (known) names.push_back(name);
  };
  for (const std::string& metric : metrics) add_if_known(metric);
  for (const char* name : kOwnFigures) add_if_known(name);
  return names;
}

std::string value_text(const Configuration& one, const std::string& parameter) {
  const auto* value = one.values.find(parameter);
  return value == nullptr ? "" : text_of(*value);
}

ShownValues::ShownValues(const Configurations& configurations, std::string parameter)
    : configurations_(configurations), parameter_(std::move(parameter)) {
  constexpr int kAllDigits = 17;
  std::set<std::string> exact;
  for (const Configuration& one : configurations.all) exact.insert(value_text(one, parameter_));
  for (; digits_ < kAllDigits; ++digits_) {
    std::set<std::string> shown;
    for (const Configuration& one : configurations.all) shown.insert(of(one));
    if (shown.size() == exact.size()) return;
  }
}

std::string ShownValues::text(const experiment::Value& value, int digits) {
  std::string exact = text_of(value);
  if (!value.is_number() || value.whole) return exact;
  std::string rounded = fmt::format("{:.{}g}", value.number, digits);
  return rounded.size() < exact.size() ? rounded : exact;
}

std::string ShownValues::of(const Configuration& one) const {
  const auto* value = one.values.find(parameter_);
  return value == nullptr ? "" : text(*value, digits_);
}

bool ShownValues::rounded() const {
  return std::ranges::any_of(configurations_.all, [&](const Configuration& one) {
    return of(one) != value_text(one, parameter_);
  });
}

std::string named_text(const Configurations& configurations, const Configuration& one,
                       const std::string& name) {
  const auto& parameters = configurations.parameters;
  if (std::find(parameters.begin(), parameters.end(), name) != parameters.end()) {
    return value_text(one, name);
  }
  if (name == "model") return one.model;
  if (name == "repo" || name == "repository") return one.repository;
  if (name == "training") return one.repository + "/" + one.model;
  if (name == "beside") return one.background.empty() ? "nothing" : one.background;
  return "";
}

std::vector<std::string> varying_parameters(const Configurations& configurations) {
  std::vector<std::string> varying;
  for (const std::string& parameter : configurations.parameters) {
    const std::string first = value_text(configurations.all.front(), parameter);
    const bool varies = std::ranges::any_of(configurations.all, [&](const Configuration& one) {
      return value_text(one, parameter) != first;
    });
    if (varies) varying.push_back(parameter);
  }
  return varying;
}

std::string short_name(const Configurations& configurations, const Configuration& one) {
  const auto differs = [&](auto member) {
    return std::ranges::any_of(configurations.all, [&](const Configuration& other) {
      return other.*member != one.*member;
    });
  };
  std::vector<std::string> parts;
  if (differs(&Configuration::repository) || differs(&Configuration::model)) {
    parts.push_back(one.repository + "/" + one.model);
  }
  if (differs(&Configuration::background)) {
    parts.push_back(one.background.empty() ? "alone" : "beside " + one.background);
  }
  for (const std::string& parameter : varying_parameters(configurations)) {
    const std::string text = ShownValues(configurations, parameter).of(one);
    if (!text.empty()) parts.push_back(fmt::format("{} {}", parameter, text));
  }
  if (parts.empty()) return one.repository + "/" + one.model;
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string heading_of(const std::string& figure) {
  return figure == kSeconds ? "time (s)" : figure == kCo2 ? "CO2 (g)" : figure;
}

std::optional<double> mean_of(const Configuration& one, const std::string& figure) {
  const auto found = one.figures.find(figure);
  if (found == one.figures.end() || found->second.numbers.empty()) return std::nullopt;
  return found->second.moments().mean;
}

std::vector<std::string> notes_on_prices(const Configurations& configurations) {
  if (!configurations.energy_parts.empty() || configurations.all.empty()) return {};
  std::vector<std::string> notes;
  const auto note = [&](const char* option, const char* what) {
    notes.push_back(fmt::format("{} has no effect: no energy was measured, so the {} is unknown",
                                option, what));
  };
  if (configurations.prices.grams_per_kwh) note("--grams-per-kwh", "CO2");
  if (configurations.prices.price_per_kwh) note("--price", "cost");
  return notes;
}

void set_price(EnergyPrices& prices, const std::string& text) {
  if (text.empty()) return;
  const auto refuse = [&] {
    fail(ErrorKind::usage,
         "--price {}: give a number with a point and, if you like, a currency: 0.30 EUR", text);
  };
  // Digits alone, so that neither "inf" nor "0x1F" is a price.
  const size_t end = text.find_first_not_of("0123456789.");
  const std::string number = text.substr(0, end);
  size_t used = 0;
  try {
    prices.price_per_kwh = std::stod(number, &used);
  } catch (const std::exception&) {
    refuse();
  }
  if (used != number.size()) refuse();
  const size_t word = end == std::string::npos ? end : text.find_first_not_of(' ', end);
  if (word == std::string::npos) return;
  prices.currency = text.substr(word);
  // "0,30", "1 000" and "1e3" have no currency, but another notation of the number.
  const bool punctuation =
      std::string_view(".,;:'+-").find(prices.currency.front()) != std::string_view::npos;
  if (punctuation || prices.currency.find_first_of("0123456789") != std::string::npos) refuse();
}

}  // namespace plimsoll::answer
