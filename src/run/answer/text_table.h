// A table for people: columns side by side as wide as their cells, or LaTeX.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace plimsoll::answer {

struct TextColumn {
  std::string heading;
  std::vector<std::string> cells;
  bool to_the_left = false;  // numbers stand at the right
  int rank = 0;              // the column with the highest rank is left out first; 0: never
};

struct TextTable {
  std::vector<TextColumn> columns;
  std::vector<std::string> left_out;  // headings of columns that had no room
};

// Leaves out columns, the highest rank first, until a line fits. 0: unlimited.
void fit(TextTable& table, size_t most_columns);

// Lines with a line end each. Empty columns (no cell has text) are not shown.
std::string text_of(const TextTable& table);

// A tabular environment. ± becomes \pm, and characters with a meaning in TeX are quoted.
std::string latex_of(const TextTable& table);

}  // namespace plimsoll::answer
