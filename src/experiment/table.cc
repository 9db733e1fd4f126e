#include "experiment/table.h"

namespace plimsoll::experiment {
namespace {

class TableParser {
 public:
  void take(char c, char next, bool& skip_next) {
    if (quoted_) {
      if (c == '"' && next == '"') {
        cell_ += c;
        skip_next = true;
      } else if (c == '"') {
        quoted_ = false;
      } else {
        cell_ += c;
      }
    } else if (c == '"' && cell_.empty()) {
      quoted_ = true;
    } else if (c == ',') {
      end_cell();
    } else if (c == '\n') {
      end_row();
    } else if (c != '\r') {
      cell_ += c;
    }
  }

  void end_cell() {
    row_.push_back(std::move(cell_));
    cell_.clear();
  }

  void end_row() {
    if (row_.empty() && cell_.empty()) return;
    end_cell();
    rows_.push_back(std::move(row_));
    row_.clear();
  }

  std::vector<Row> take_rows() { return std::move(rows_); }

 private:
  std::vector<Row> rows_;
  Row row_;
  std::string cell_;
  bool quoted_ = false;
};

}  // namespace

std::vector<Row> parse_table(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // as spreadsheets begin a file
  TableParser parser;
  for (size_t i = 0; i < text.size(); ++i) {
    bool skip_next = false;
    parser.take(text[i], i + 1 < text.size() ? text[i + 1] : '\0', skip_next);
    if (skip_next) ++i;
  }
  parser.end_row();
  return parser.take_rows();
}

std::string table_cells(const Row& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (!line.empty() || &cell != &cells.front()) line += ',';
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
      line += cell;
      continue;
    }
    line += '"';
    for (const char c : cell) {
      if (c == '"') line += c;
      line += c;
    }
    line += '"';
  }
  return line;
}

std::string table_line(const Row& cells) { return table_cells(cells) + "\n"; }

}  // namespace plimsoll::experiment
