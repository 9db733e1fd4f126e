// The hyperparameters of one experiment. Numbers are equal in any notation. A text or a truth value
// equals what is written the same way.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::experiment {

// A double has 53 bits. To keep every digit of a 64-bit whole number, it is stored as the nearest
// double and the difference: the value is number + rest. For other numbers `rest` is 0.
struct Value {
  enum class Type { number, text, boolean };
  double number = 0;  // of a truth value 0 or 1; of a text 0
  bool whole = false;
  int64_t rest = 0;
  Type type = Type::number;
  std::string word;  // of a text

  bool is_number() const { return type == Type::number; }
  bool operator==(const Value& other) const;
  // Comparing `number` first is correct: a larger whole number never has a smaller nearest double.
  // Only numbers have an order.
  std::partial_ordering operator<=>(const Value& other) const {
    if (!is_number() || !other.is_number()) return std::partial_ordering::unordered;
    if (number == other.number) return rest <=> other.rest;
    return number <=> other.number;
  }
};
Value text_value(std::string word);
Value truth_value(bool truth);

__extension__ using Whole = __int128;  // every int64_t, uint64_t, and their differences

// Whether it is between the smallest int64_t and the largest uint64_t.
bool is_64_bit(Whole number);
Value value_of(Whole number);

// Nothing if the value is not a whole number or exceeds 64 bits.
std::optional<Whole> whole_of(const Value& value);

// Parses the number at the start of a text, after blanks, like strtod. A whole number without point
// and exponent keeps all its digits. Nothing if there is no number.
std::optional<Value> parse_value(std::string_view text);

// The shortest decimal text that parses to the same number; all digits of a whole number; "true" or
// "false"; the text itself. The training gets this text, and the files contain it.
std::string text_of(const Value& value);

// In the order of the model config, which is also the order on the command line.
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
