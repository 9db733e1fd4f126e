#include "answer/text_table.h"

#include <algorithm>
#include <string_view>

#include "base/terminal.h"

namespace plimsoll::answer {
namespace {

constexpr size_t kGap = 2;

bool is_empty(const TextColumn& column) {
  return std::ranges::all_of(column.cells, [](const std::string& cell) { return cell.empty(); });
}

size_t width_of(const TextColumn& column) {
  size_t width = columns_of(column.heading);
  for (const std::string& cell : column.cells) width = std::max(width, columns_of(cell));
  return width;
}

size_t width_of(const TextTable& table) {
  size_t width = 0;
  for (const TextColumn& column : table.columns) {
    if (!is_empty(column)) width += width_of(column) + kGap;
  }
  return width < kGap ? 0 : width - kGap;
}

void append_padded(std::string& line, const std::string& cell, const TextColumn& column,
                   size_t width) {
  const std::string blanks(width - columns_of(cell), ' ');
  line += column.to_the_left ? cell + blanks : blanks + cell;
  line.append(kGap, ' ');
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string in_tex(std::string_view text) {
  std::string quoted;
  const bool has_spread = text.find("±") != std::string_view::npos;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("±")) {
      quoted += "\\pm";
      i += std::string_view("±").size() - 1;
    } else if (std::string_view("%&#_{}$").find(text[i]) != std::string_view::npos) {
      quoted += '\\';
      quoted += text[i];
    } else if (text[i] == '\\') {
      quoted += "\\textbackslash{}";
    } else if (text[i] == '~' || text[i] == '^') {
      quoted += std::string("\\") + text[i] + "{}";
    } else {
      quoted += text[i];
    }
  }
  return has_spread ? "$" + quoted + "$" : quoted;
}

}  // namespace

void fit(TextTable& table, size_t most_columns) {
  std::erase_if(table.columns, [](const TextColumn& column) { return is_empty(column); });
  while (most_columns > 0 && width_of(table) > most_columns) {
    // If ranks are equal, the last column goes first.
    auto out = table.columns.end();
    for (auto column = table.columns.begin(); column != table.columns.end(); ++column) {
      if (column->rank > 0 && (out == table.columns.end() || column->rank >= out->rank)) {
        out = column;
      }
    }
    if (out == table.columns.end()) return;
    table.left_out.push_back(out->heading);
    table.columns.erase(out);
  }
}

std::string text_of(const TextTable& table) {
  std::vector<const TextColumn*> columns;
  size_t rows = 0;
  for (const TextColumn& column : table.columns) {
    if (!is_empty(column)) columns.push_back(&column);
    rows = std::max(rows, column.cells.size());
  }
  std::string heading;
  for (const TextColumn* column : columns) {
    append_padded(heading, column->heading, *column, width_of(*column));
  }
  std::string text = trimmed(std::move(heading));
  for (size_t row = 0; row < rows; ++row) {
    std::string line;
    for (const TextColumn* column : columns) {
      append_padded(line, column->cells[row], *column, width_of(*column));
    }
    text += trimmed(std::move(line));
  }
  return text;
}

std::string latex_of(const TextTable& table) {
  std::string layout;
  std::string heading;
  size_t rows = 0;
  std::vector<const TextColumn*> columns;
  for (const TextColumn& column : table.columns) {
    if (is_empty(column)) continue;
    columns.push_back(&column);
    layout += column.to_the_left ? 'l' : 'r';
    heading += (heading.empty() ? "" : " & ") + in_tex(column.heading);
    rows = column.cells.size();
  }
  std::string text = "\\begin{tabular}{" + layout + "}\n\\hline\n" + heading + " \\\\\n\\hline\n";
  for (size_t row = 0; row < rows; ++row) {
    std::string line;
    for (const TextColumn* column : columns) {
      line += (column == columns.front() ? "" : " & ") + in_tex(column->cells[row]);
    }
    text += line + " \\\\\n";
  }
  return text + "\\hline\n\\end{tabular}\n";
}

}  // namespace plimsoll::answer
