#include "base/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace plimsoll {

size_t edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment: three rows of the table are enough, a swap looks back two.
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

namespace {

std::string in_lower_case(std::string_view word) {
  std::string text(word);
  std::ranges::transform(text, text.begin(),
                         [](unsigned char letter) { return std::tolower(letter); });
  return text;
}

}  // namespace

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  const auto begins = [&](const std::string& candidate) { return candidate.starts_with(word); };
  const bool a_letter = word.find_first_not_of('-') != std::string_view::npos;
  if (a_letter && std::count_if(candidates.begin(), candidates.end(), begins) == 1) {
    return *std::find_if(candidates.begin(), candidates.end(), begins);
  }
  std::optional<std::string> best;
  size_t best_distance = word.size() / 3 + 1;
  const std::string lower = in_lower_case(word);
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(lower, in_lower_case(candidate));
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

}  // namespace plimsoll
