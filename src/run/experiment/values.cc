#include "experiment/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

namespace plimsoll::experiment {
namespace {

constexpr double kBeyond64Bits = 0x1p65;

// Parses digits with an optional sign; nothing for other text or if the number exceeds 64 bits.
std::optional<Whole> parse_whole(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  uint64_t digits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), digits);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  const Whole number = negative ? -static_cast<Whole>(digits) : static_cast<Whole>(digits);
  return is_64_bit(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

bool Value::operator==(const Value& other) const {
  if (is_number() && other.is_number()) return number == other.number && rest == other.rest;
  return text_of(*this) == text_of(other);
}

Value text_value(std::string word) { return {.type = Value::Type::text, .word = std::move(word)}; }

Value truth_value(bool truth) {
  return {.number = truth ? 1.0 : 0.0, .type = Value::Type::boolean};
}

bool is_64_bit(Whole number) {
  return number >= std::numeric_limits<int64_t>::min() &&
         number <= static_cast<Whole>(std::numeric_limits<uint64_t>::max());
}

Value value_of(Whole number) {
  const auto nearest = static_cast<double>(number);
  return {.number = nearest,
          .whole = true,
          .rest = static_cast<int64_t>(number - static_cast<Whole>(nearest))};
}

std::optional<Whole> whole_of(const Value& value) {
  if (!value.is_number() || !(std::abs(value.number) < kBeyond64Bits) ||
      value.number != std::floor(value.number)) {
    return {};
  }
  const Whole number = static_cast<Whole>(value.number) + value.rest;
  return is_64_bit(number) ? std::optional(number) : std::nullopt;
}

std::optional<Value> parse_value(std::string_view text) {
  const std::string copy(text);  // strtod needs a terminating zero
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str()) return {};
  std::string_view read(copy.c_str(), static_cast<size_t>(end - copy.c_str()));
  read.remove_prefix(std::min(read.find_first_not_of(" \t\n\v\f\r"), read.size()));
  if (const auto whole = parse_whole(read)) return value_of(*whole);
  return Value{.number = number};
}

std::string text_of(const Value& value) {
  if (value.type == Value::Type::text) return value.word;
  if (value.type == Value::Type::boolean) return value.number != 0 ? "true" : "false";
  if (value.whole || value.rest != 0) {
    if (const auto whole = whole_of(value)) return fmt::format("{}", *whole);
    if (std::isfinite(value.number)) return fmt::format("{:.0f}", value.number);
  }
  return fmt::format("{}", value.number);
}

const Value* Values::find(std::string_view name) const {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Named& named) { return named.name == name; });
  return found == all.end() ? nullptr : &found->value;
}

void Values::set(std::string_view name, Value value) {
  for (Named& named : all) {
    if (named.name != name) continue;
    named.value = std::move(value);
    return;
  }
  all.push_back({.name = std::string(name), .value = std::move(value)});
}

std::string describe(const Values& values) {
  std::string text;
  for (const auto& [name, value] : values.all) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, text_of(value));
  }
  return text.empty() ? "no hyperparameters" : text;
}

}  // namespace plimsoll::experiment
