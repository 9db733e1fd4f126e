#include "experiment/draw.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"

namespace plimsoll::experiment {
namespace {

// After so many rejected draws, the free combinations are searched one by one.
constexpr unsigned kMostRejected = 1000;
constexpr uint64_t kCountless = uint64_t{1} << 40;

bool zero_besides(const Hyperparameter& parameter) {
  return parameter.zero_probability > 0 && (parameter.low.number > 0 || parameter.high.number < 0);
}

// The index-th distinct value. The parameter must have a countable number of values.
Value nth_value(const Hyperparameter& parameter, uint64_t index) {
  if (zero_besides(parameter)) {
    if (index == 0) return {.number = 0, .whole = parameter.whole};
    --index;
  }
  if (!parameter.whole) return parameter.low;  // the only value
  return value_of(whole_of(parameter.low).value_or(0) + index);
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

std::optional<uint64_t> distinct_values(const Hyperparameter& parameter) {
  const uint64_t zero = zero_besides(parameter) ? 1 : 0;
  if (parameter.low == parameter.high) return 1 + zero;
  if (!parameter.whole) return std::nullopt;
  const Whole count = count_of(parameter);
  if (count > kCountless) return std::nullopt;
  return static_cast<uint64_t>(count) + zero;
}

Drawer::Drawer(const Repository& repository, const std::vector<std::string>& mutate, Values base,
               uint64_t seed, uint64_t stream)
    : base_(std::move(base)), seed_(seed), stream_(stream) {
  Values ordered;  // in the config's order, with drawn parameters that have no value in the base
  for (const Hyperparameter& parameter : repository.hyperparameters) {
    const bool drawn = std::find(mutate.begin(), mutate.end(), parameter.name) != mutate.end();
    if (drawn) parameters_.push_back(&parameter);
    const Value* value = base_.find(parameter.name);
    if (value != nullptr || drawn) {
      ordered.set(parameter.name, value != nullptr ? *value : Value{.whole = parameter.whole});
    }
  }
  base_ = std::move(ordered);
  forbid(repository.defaults());
}

bool Drawer::in_space(const Values& values) const {
  if (values.all.size() != base_.all.size()) return false;
  for (const Values::Named& named : base_.all) {
    const Value* other = values.find(named.name);
    if (other == nullptr) return false;
    const auto drawn =
        std::find_if(parameters_.begin(), parameters_.end(),
                     [&](const auto* parameter) { return parameter->name == named.name; });
    if (drawn == parameters_.end()) {
      if (!(*other == named.value)) return false;
      continue;
    }
    const bool inside = *other >= (*drawn)->low && *other <= (*drawn)->high;
    const bool whole = !(*drawn)->whole || whole_of(*other);
    const bool zero = other->number == 0 && (*drawn)->zero_probability > 0;
    if (!(inside && whole) && !zero) return false;
  }
  return true;
}

void Drawer::forbid(const Values& values) {
  if (!in_space(values)) return;
  Values ordered = base_;
  for (auto& [name, value] : ordered.all) value = *values.find(name);
  taken_.insert(combination_of(ordered));
}

Drawer::Combination Drawer::combination_of(const Values& values) {
  Combination numbers;
  numbers.reserve(values.all.size());
  for (const auto& [name, value] : values.all) numbers.emplace_back(value.number, value.rest);
  return numbers;
}

std::optional<uint64_t> Drawer::combinations() const {
  uint64_t product = 1;
  for (const Hyperparameter* parameter : parameters_) {
    const auto count = distinct_values(*parameter);
    if (!count || product > kCountless / *count) return std::nullopt;
    product *= *count;
  }
  return product;
}

std::optional<uint64_t> Drawer::left() const {
  const auto all = combinations();
  if (!all) return std::nullopt;
  return *all - std::min<uint64_t>(*all, taken_.size());
}

Values Drawer::combination(uint64_t index) const {
  Values values = base_;
  for (const Hyperparameter* parameter : parameters_) {
    const uint64_t count = distinct_values(*parameter).value_or(1);
    values.set(parameter->name, nth_value(*parameter, index % count));
    index /= count;
  }
  return values;
}

std::optional<Values> Drawer::first_free_from(uint64_t start) const {
  const auto all = combinations();
  if (!all) return std::nullopt;
  for (uint64_t i = 0; i < *all; ++i) {
    Values values = combination((start + i) % *all);
    if (!taken(values)) return values;
  }
  return std::nullopt;
}

std::optional<Values> Drawer::next() {
  if (left() == 0) return std::nullopt;
  const RandomStream random(seed_, stream_);
  for (unsigned rejected = 0; rejected < kMostRejected; ++rejected) {
    Values values = base_;
    for (const Hyperparameter* parameter : parameters_) {
      const uint64_t bits = random.at(draws_++);
      values.set(parameter->name, draw_value(*parameter, bits, random.at(draws_++)));
    }
    if (taken(values)) continue;
    taken_.insert(combination_of(values));
    return values;
  }
  auto values = first_free_from(below(random.at(draws_++), combinations().value_or(1)));
  if (values) taken_.insert(combination_of(*values));
  return values;
}

}  // namespace plimsoll::experiment
