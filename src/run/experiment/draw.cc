#include "experiment/draw.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "experiment/design.h"

namespace plimsoll::experiment {
namespace {

// After so many rejected draws, the free combinations are searched one by one.
constexpr unsigned kMostRejected = 1000;
constexpr uint64_t kCountless = uint64_t{1} << 40;
constexpr uint64_t kMostTried = uint64_t{1} << 20;  // combinations that rules are applied to

bool zero_besides(const Hyperparameter& parameter) {
  return parameter.zero_probability > 0 && (parameter.low.number > 0 || parameter.high.number < 0);
}

// The index-th distinct value. The parameter must have a countable number of values.
Value nth_value(const Hyperparameter& parameter, uint64_t index) {
  if (!parameter.choices.empty()) return parameter.choices.at(index);
  if (zero_besides(parameter)) {
    if (index == 0) return {.number = 0, .whole = parameter.whole};
    --index;
  }
  if (!parameter.whole) return parameter.low;  // the only value
  return value_of(whole_of(parameter.low).value_or(0) + index);
}

bool can_draw(const Hyperparameter& parameter, const Value& value) {
  const auto& choices = parameter.choices;
  if (!choices.empty()) return std::find(choices.begin(), choices.end(), value) != choices.end();
  const bool inside = value >= parameter.low && value <= parameter.high;
  const bool whole = !parameter.whole || whole_of(value);
  const bool zero = value.number == 0 && parameter.zero_probability > 0;
  return (inside && whole) || zero;
}

// The size of a range of whole numbers. It can exceed 64 bits, because a range may reach from the
// smallest int64_t to the largest uint64_t.
Whole count_of(const Hyperparameter& parameter) {
  return whole_of(parameter.high).value_or(0) - whole_of(parameter.low).value_or(0) + 1;
}

// Uses 64 random bits. In a range with more than 2^64 values, only the first 2^64 can be drawn.
Value draw_whole(const Hyperparameter& parameter, uint64_t bits) {
  const Whole count = count_of(parameter);
  const uint64_t offset = is_64_bit(count) ? below(bits, static_cast<uint64_t>(count)) : bits;
  return value_of(whole_of(parameter.low).value_or(0) + offset);
}

}  // namespace

Value draw_value(const Hyperparameter& parameter, uint64_t bits, uint64_t more_bits) {
  const auto& choices = parameter.choices;
  if (!choices.empty()) return choices[below(more_bits, choices.size())];
  Value value{.number = 0, .whole = parameter.whole};
  if (unit_interval(bits) < parameter.zero_probability) return value;
  const double unit = unit_interval(more_bits);
  if (parameter.log_uniform) {
    const double low = std::log(parameter.low.number);
    value.number = std::exp(low + unit * (std::log(parameter.high.number) - low));
    if (parameter.whole) value.number = std::round(value.number);
  } else if (parameter.whole) {
    value = draw_whole(parameter, more_bits);
  } else {
    const double low = parameter.low.number;
    value.number = low + unit * (parameter.high.number - low);
  }
  if (value < parameter.low) value = parameter.low;
  if (value > parameter.high) value = parameter.high;
  value.whole = parameter.whole;
  return value;
}

namespace {

// The value below which `share` of the parameter's distribution lies.
Value value_at(const Hyperparameter& parameter, double share) {
  const double zero = parameter.choices.empty() ? parameter.zero_probability : 0;
  if (share < zero) return {.number = 0, .whole = parameter.whole};
  constexpr double kBits = 0x1p64;
  const double rest = zero < 1 ? (share - zero) / (1 - zero) : 0;
  const auto bits = static_cast<uint64_t>(std::min(rest * kBits, kBits - 0x1p11));
  return draw_value(parameter, ~uint64_t{0}, bits);
}

}  // namespace

std::optional<uint64_t> distinct_values(const Hyperparameter& parameter) {
  if (!parameter.choices.empty()) return parameter.choices.size();
  const uint64_t zero = zero_besides(parameter) ? 1 : 0;
  if (parameter.low == parameter.high) return 1 + zero;
  if (!parameter.whole) return std::nullopt;
  const Whole count = count_of(parameter);
  if (count > kCountless) return std::nullopt;
  return static_cast<uint64_t>(count) + zero;
}

bool can_be_drawn(const Hyperparameter& parameter, const Condition& condition) {
  const auto holds_for = [&](const Value& value) {
    Values one;
    one.set(condition.parameter, value);
    return holds(condition, one);
  };
  if (!parameter.choices.empty()) return std::ranges::any_of(parameter.choices, holds_for);
  if (std::ranges::any_of(condition.any_of,
                          [&](const Value& value) { return can_draw(parameter, value); })) {
    return true;
  }
  if (zero_besides(parameter) && holds_for({.number = 0, .whole = parameter.whole})) return true;
  return (condition.least || condition.most) &&
         condition.least.value_or(parameter.low.number) <= parameter.high.number &&
         condition.most.value_or(parameter.high.number) >= parameter.low.number;
}

Drawer::Drawer(const Repository& repository, const std::vector<std::string>& mutate, Values base,
               uint64_t seed, uint64_t stream, const Design& design)
    : base_(std::move(base)), rules_(design.rules), seed_(seed), stream_(stream) {
  Values ordered;  // in the config's order, with drawn parameters that have no value in the base
  for (const Hyperparameter& parameter : repository.hyperparameters) {
    const bool drawn = std::find(mutate.begin(), mutate.end(), parameter.name) != mutate.end();
    if (drawn) parameters_.push_back(parameter);
    const Value* value = base_.find(parameter.name);
    if (value != nullptr || drawn) {
      ordered.set(parameter.name, value != nullptr ? *value : Value{.whole = parameter.whole});
    }
  }
  for (Hyperparameter& parameter : parameters_) {
    for (const ParameterChoices& axis : design.choices) {
      if (axis.parameter == parameter.name) parameter.choices = axis.values;
    }
  }
  base_ = std::move(ordered);
  // Who lists the values of a parameter means each of them.
  if (!design.choices.empty()) return;
  forbid(repository.defaults());
  without_defaults_ = !taken_.empty() && !rules_.excludes(repository.defaults());
}

bool Drawer::in_space(const Values& values) const {
  if (!rules_.only_if.empty()) return true;  // then left() does not rely on it
  if (values.all.size() != base_.all.size()) return false;
  for (const Values::Named& named : base_.all) {
    const Value* other = values.find(named.name);
    if (other == nullptr) return false;
    const auto drawn =
        std::find_if(parameters_.begin(), parameters_.end(),
                     [&](const auto& parameter) { return parameter.name == named.name; });
    const bool fits = drawn == parameters_.end() ? *other == named.value : can_draw(*drawn, *other);
    if (!fits) return false;
  }
  return true;
}

void Drawer::forbid(const Values& values) {
  if (in_space(values)) taken_.insert(combination_of(rules_.settled(values)));
}

Drawer::Combination Drawer::combination_of(const Values& values) const {
  Combination keys;
  keys.reserve(base_.all.size());
  for (const auto& [name, unused] : base_.all) {
    const Value* value = values.find(name);
    if (value == nullptr) {
      keys.emplace_back();
    } else if (value->is_number()) {
      keys.emplace_back(1, value->number, value->rest, "");
    } else {
      keys.emplace_back(2, 0, 0, text_of(*value));
    }
  }
  return keys;
}

std::optional<uint64_t> Drawer::combinations() const {
  uint64_t product = 1;
  for (const Hyperparameter& parameter : parameters_) {
    const auto count = distinct_values(parameter);
    if (!count || product > kCountless / *count) return std::nullopt;
    product *= *count;
  }
  return product;
}

std::optional<uint64_t> Drawer::combinations_to_draw() const {
  const auto all = combinations();
  return all ? std::optional(*all - std::min<uint64_t>(*all, without_defaults_ ? 1 : 0)) : all;
}

std::optional<uint64_t> Drawer::left(uint64_t enough) const {
  const auto all = combinations();
  if (!all) return std::nullopt;
  if (rules_.none()) return std::min(enough, *all - std::min<uint64_t>(*all, taken_.size()));
  if (*all > kMostTried) return std::nullopt;
  std::set<Combination> free;  // several combinations may be settled to the same one
  for (uint64_t i = 0; i < *all && free.size() < enough; ++i) {
    const Values values = rules_.settled(combination(i));
    if (is_free(values)) free.insert(combination_of(values));
  }
  return free.size();
}

Values Drawer::combination(uint64_t index) const {
  Values values = base_;
  for (const Hyperparameter& parameter : parameters_) {
    const uint64_t count = distinct_values(parameter).value_or(1);
    values.set(parameter.name, nth_value(parameter, index % count));
    index /= count;
  }
  return values;
}

std::optional<Values> Drawer::first_free_from(uint64_t start) const {
  const auto all = combinations();
  if (!all || (!rules_.none() && *all > kMostTried)) return std::nullopt;
  for (uint64_t i = 0; i < *all; ++i) {
    Values values = rules_.settled(combination((start + i) % *all));
    if (is_free(values)) return values;
  }
  return std::nullopt;
}

std::optional<Values> Drawer::next() {
  if (rules_.none() && left() == 0) return std::nullopt;
  const RandomStream random(seed_, stream_);
  for (unsigned rejected = 0; rejected < kMostRejected; ++rejected) {
    Values values = base_;
    for (const Hyperparameter& parameter : parameters_) {
      const uint64_t bits = random.at(draws_++);
      values.set(parameter.name, draw_value(parameter, bits, random.at(draws_++)));
    }
    values = rules_.settled(std::move(values));
    if (!is_free(values)) continue;
    taken_.insert(combination_of(values));
    return values;
  }
  auto values = first_free_from(below(random.at(draws_++), combinations().value_or(1)));
  if (values) taken_.insert(combination_of(*values));
  return values;
}

Drawer::Hypercube Drawer::latin_hypercube(size_t count) {
  const RandomStream random(seed_, stream_);
  std::vector<Values> all(count, base_);
  for (const Hyperparameter& parameter : parameters_) {
    const auto parts = shuffled(count, seed_, mix64(stream_ + mix64(draws_++)));
    for (size_t i = 0; i < count; ++i) {
      const double within = unit_interval(random.at(draws_++));
      const double at = (static_cast<double>(parts[i]) + within) / static_cast<double>(count);
      all[i].set(parameter.name, value_at(parameter, at));
    }
  }
  Hypercube made;
  for (Values& point : all) {
    point = rules_.settled(std::move(point));
    if (is_free(point)) {
      taken_.insert(combination_of(point));
      made.points.push_back(std::move(point));
    } else if (auto other = next()) {
      made.points.push_back(std::move(*other));
      ++made.replaced;
    }
  }
  return made;
}

}  // namespace plimsoll::experiment
