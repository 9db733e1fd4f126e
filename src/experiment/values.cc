#include "experiment/values.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll::experiment {

std::string text_of(const Value& value) {
  constexpr double kExactBelow = 9007199254740992.0;
  if (value.whole && value.number < kExactBelow && value.number > -kExactBelow) {
    return fmt::format("{}", static_cast<int64_t>(value.number));
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
    named.value = value;
    return;
  }
  all.push_back({.name = std::string(name), .value = value});
}

std::string describe(const Values& values) {
  std::string text;
  for (const auto& [name, value] : values.all) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, text_of(value));
  }
  return text.empty() ? "no hyperparameters" : text;
}

}  // namespace plimsoll::experiment
