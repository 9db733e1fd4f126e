// Two trainings side by side: what differs in their recipes, and in accuracy, time, memory and
// curves. Of several seeds each, whether the difference is real.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace plimsoll::screen {

// The --save-dir of each. Both functions throw Error{io} if one has no results, Error{usage} if
// they have a training in common, Error{input} if one mixes trainings with different recipes.
struct ComparedTrainings {
  std::filesystem::path a;
  std::filesystem::path b;
};

void print_comparison(const ComparedTrainings& folders);
nlohmann::ordered_json comparison_json(const ComparedTrainings& folders);

}  // namespace plimsoll::screen
