#include "experiment/problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace plimsoll::experiment {

size_t Problems::errors() const {
  return static_cast<size_t>(std::count_if(
      all_.begin(), all_.end(), [](const Problem& problem) { return problem.is_error; }));
}

std::vector<Problem> Problems::in_order() const {
  std::vector<Problem> sorted = all_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.file, a.line) < std::tie(b.file, b.line);
  });
  return sorted;
}

std::string describe(const Problem& problem) {
  const std::string place =
      problem.line == 0 ? problem.file : fmt::format("{}:{}", problem.file, problem.line);
  return fmt::format("{}: {}: {}", place, problem.is_error ? "error" : "warning", problem.text);
}

}  // namespace plimsoll::experiment
