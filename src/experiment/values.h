// The hyperparameters of one experiment. Equal means the same numbers, however they were written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::experiment {

struct Value {
  double number = 0;
  bool whole = false;
  bool operator==(const Value& other) const { return number == other.number; }
};

// The shortest decimal that reads back as the same number: what the training gets and what is
// written down.
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
