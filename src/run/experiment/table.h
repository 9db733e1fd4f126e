// Tables as comma-separated text: those of earlier batches, and the summary.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace plimsoll::experiment {

using Row = std::vector<std::string>;

// What a table that is read whole may have, and a row of it.
constexpr uint64_t kMostTableBytes = 64 * kMiB;
constexpr size_t kMostCells = 10000;

// The rows, each with its number, from 1; the first has the names of the columns. Cells may be
// quoted; empty lines are left out. Throws Error{input} for a row of too many cells.
void for_each_row(std::string_view text, const std::function<void(size_t number, Row row)>& take);
std::vector<Row> parse_table(std::string_view text);

// Quotes what needs it.
std::string table_cells(const Row& cells);
// The same with the line's end.
std::string table_line(const Row& cells);

}  // namespace plimsoll::experiment
