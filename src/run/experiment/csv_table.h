// CSV tables: the summary of a batch, and tables that users bring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace plimsoll::experiment {

// A row of a CSV table.
using Row = std::vector<std::string>;

constexpr uint64_t kMostTableBytes = 64 * kMiB;  // of a table that is read whole
constexpr size_t kMostCells = 10000;             // of a row

// Calls `take` for each row of a CSV text, with the row's number from 1; the first row has the
// names of the columns. Cells may be quoted; empty lines are skipped. Throws Error{input} for a row
// with too many cells.
void for_each_row(std::string_view text, const std::function<void(size_t number, Row row)>& take);
std::vector<Row> parse_table(std::string_view text);

// The cells as one CSV line, quoted if needed.
std::string table_cells(const Row& cells);
// The same with a line end.
std::string table_line(const Row& cells);

}  // namespace plimsoll::experiment
