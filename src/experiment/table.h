// Tables as comma-separated text: those of earlier batches, and the summary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::experiment {

using Row = std::vector<std::string>;

// The first row has the names of the columns. Cells may be quoted; empty lines are left out.
std::vector<Row> parse_table(std::string_view text);

// Quotes what needs it.
std::string table_cells(const Row& cells);
// The same with the line's end.
std::string table_line(const Row& cells);

}  // namespace plimsoll::experiment
