// The hyperparameters of one experiment. Equal means the same numbers, however they were written.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::experiment {

// A double has 53 bits. A whole number of 64 keeps every digit as the nearest double and what that
// lacks: number + rest is the value. `rest` is 0 for all others.
struct Value {
  double number = 0;
  bool whole = false;
  int64_t rest = 0;
  bool operator==(const Value& other) const { return number == other.number && rest == other.rest; }
  // The nearest double never falls as the number rises.
  std::partial_ordering operator<=>(const Value& other) const {
    if (number == other.number) return rest <=> other.rest;
    return number <=> other.number;
  }
};

__extension__ using Whole = __int128;  // every int64_t, uint64_t, and their differences

// From the least int64_t to the largest uint64_t.
bool is_64_bit(Whole number);
Value value_of(Whole number);

// Nothing where the value is not whole, or beyond 64 bits.
std::optional<Whole> whole_of(const Value& value);

// The number at the start of a text, behind blanks, as strtod reads it; a whole one that is written
// without point and exponent with all its digits. Nothing where there is none.
std::optional<Value> parse_value(std::string_view text);

// The shortest decimal that reads back as the same number: what the training gets and what is
// written down. All digits of a whole one.
std::string text_of(const Value& value);

// In the order of the model config, which is that of the command line.
struct Values {
  struct Named {
    std::string name;
    Value value;
    bool operator==(const Named&) const = default;
  };
  std::vector<Named> all;

  const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
  bool operator==(const Values& other) const = default;
};

// "epochs 12, learning_rate 3e-05"
std::string describe(const Values& values);

}  // namespace plimsoll::experiment
